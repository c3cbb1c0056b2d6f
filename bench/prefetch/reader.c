// reader read PATTERN PATH READS PIECE MICROSECONDS [MB]: reads a file, or the files of a folder, and computes for so many microseconds after each
// read. Half-way it takes so many MB of memory, until three quarters. Prints a checksum and the seconds. Patterns:
//   strided     an analysis as figure 5.1 of the Mercury paper: clusters of pieces with small gaps between them and steps back within a cluster,
//               and between the clusters what the analysis does not want
//   near        the same with nothing between the clusters, so that nearly all is read
//   sequential, backward, random
//   twice       the file in sequence, then once more
//   again       half as many places at random, then, when they have left the page cache, once more in the same order
//   grows       in sequence a file that has half of what is read, and gets another piece after each read
//   files       one piece of each of the files 0, 1, 2 ... of the folder
// reader calls|random_calls FILE PAIRS: what a pread of a cached byte, the same again or any, costs in the C library, and how much more the one costs that this program sees.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { cluster = 22, unwanted = 4 << 20, batch = 100 };
typedef ssize_t (*Pread)(int, void*, size_t, off_t);

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static uint64_t state = 88172645463325252U;
static uint64_t random_number(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

static void swap(off_t* one, off_t* other) {
  const off_t kept = *one;
  *one = *other;
  *other = kept;
}

// In the order of a cluster: ascending, but for a few pieces that are wanted later.
static void clusters(off_t* at, long reads, size_t piece, off_t between) {
  off_t base = 0;
  for (long first = 0; first < reads; first += cluster) {
    off_t one[cluster];
    for (int i = 0; i < cluster; ++i) {
      one[i] = base;
      base += (off_t)piece + (off_t)(random_number() % (piece * 2 / 5));
    }
    base += between;
    for (int i = 0; i < cluster; i += 4) {
      swap(&one[i], &one[i + (int)(random_number() % (uint64_t)(cluster - i))]);
    }
    for (int i = 0; i < cluster && first + i < reads; ++i) {
      at[first + i] = one[i];
    }
  }
}

// Where each read begins. False: there is no such pattern.
static int offsets(const char* pattern, off_t* at, long reads, size_t piece) {
  if (strcmp(pattern, "strided") == 0 || strcmp(pattern, "near") == 0) {
    clusters(at, reads, piece, strcmp(pattern, "near") == 0 ? 0 : unwanted);
    return 1;
  }
  const int twice = strcmp(pattern, "twice") == 0;
  for (long i = 0; i < reads; ++i) {
    at[i] = (off_t)(twice ? i % ((reads + 1) / 2) : i) * (off_t)piece;
  }
  for (long i = 0; strcmp(pattern, "backward") == 0 && i < reads / 2; ++i) {
    swap(&at[i], &at[reads - 1 - i]);
  }
  const int again = strcmp(pattern, "again") == 0;
  for (long i = reads - 1; (again || strcmp(pattern, "random") == 0) && i > 0; --i) {
    swap(&at[i], &at[random_number() % (uint64_t)(i + 1)]);
  }
  for (long i = (reads + 1) / 2; again && i < reads; ++i) {
    at[i] = at[i - (reads + 1) / 2];
  }
  return twice || again || strcmp(pattern, "sequential") == 0 || strcmp(pattern, "grows") == 0 ||
         strcmp(pattern, "backward") == 0 || strcmp(pattern, "random") == 0;
}

// One piece of a file of its own.
static ssize_t read_file(const char* folder, long number, unsigned char* data, size_t piece) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%ld", folder, number);
  const int fd = open(path, O_RDONLY);
  const ssize_t bytes = fd < 0 ? -1 : read(fd, data, piece);
  close(fd);
  return bytes;
}

// The file as it was before, to be written at its end.
static int open_to_grow(const char* path, long reads, size_t piece) {
  const int fd = open(path, O_WRONLY | O_APPEND);
  return fd >= 0 && ftruncate(fd, (off_t)((reads + 1) / 2) * (off_t)piece) == 0 ? fd : -1;
}

// Half-way through the reads memory is taken, every page of it, and at three quarters it is given back.
static void take(unsigned char** memory, size_t bytes, long done, long reads) {
  if (bytes != 0 && done == reads / 2) {
    *memory = malloc(bytes);
    for (size_t at = 0; *memory != NULL && at < bytes; at += 4096) {
      (*memory)[at] = 1;
    }
  } else if (bytes != 0 && done == reads / 4 * 3) {
    free(*memory);
    *memory = NULL;
  }
}

static int read_all(const char* pattern, const char* path, long reads, size_t piece, double compute, size_t taken) {
  const int files = strcmp(pattern, "files") == 0;
  off_t* at = calloc((size_t)reads, sizeof *at);
  unsigned char* data = malloc(piece);
  if (at == NULL || data == NULL || (!files && !offsets(pattern, at, reads, piece))) {
    fprintf(stderr, "%s: no such pattern\n", pattern);
    return 2;
  }
  uint64_t sum = 0;
  const int grows = strcmp(pattern, "grows") == 0 ? open_to_grow(path, reads, piece) : -1;
  const double start = now();
  const int fd = files ? -1 : open(path, O_RDONLY);
  unsigned char* memory = NULL;
  for (long done = 0; done < reads; ++done) {
    take(&memory, taken, done, reads);
    if (done == (reads + 1) / 2 && strcmp(pattern, "again") == 0) {
      posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    }
    const ssize_t bytes = files ? read_file(path, done, data, piece) : pread(fd, data, piece, at[done]);
    if (bytes != (ssize_t)piece) {
      fprintf(stderr, "%s: read %ld of %ld failed\n", path, done, reads);
      return 1;
    }
    if (grows >= 0 && write(grows, data, piece) != (ssize_t)piece) {
      fprintf(stderr, "%s: write %ld of %ld failed\n", path, done, reads);
      return 1;
    }
    for (size_t j = 0; j < piece; j += 512) {
      sum = sum * 31 + data[j];
    }
    for (const double until = now() + compute; compute > 0 && now() < until;) {
    }
  }
  printf("%llu %.6f\n", (unsigned long long)sum, now() - start);
  return 0;
}

static uint64_t anywhere;  // bytes of the file that calls are about

static double run_batch(Pread call, int fd) {
  char byte = 0;
  const double start = now();
  for (int i = 0; i < batch; ++i) {
    if (call(fd, &byte, 1, anywhere == 0 ? 0 : (off_t)(random_number() % anywhere)) != 1) {
      exit(1);
    }
  }
  return (now() - start) * 1e9 / batch;
}

static int compare(const void* one, const void* other) {
  const double difference = *(const double*)one - *(const double*)other;
  return (difference > 0) - (difference < 0);
}

// A program that is linked statically has no C library beside it to look into.
#ifdef READER_IS_STATIC
static int calls(const char* path, long pairs, int any) {
  (void)pairs;
  (void)any;
  fprintf(stderr, "%s: cannot be measured\n", path);
  return 2;
}
#else
static int calls(const char* path, long pairs, int any) {
  void* library = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  Pread bare;
  Pread seen = pread;
  void* found = library == NULL ? NULL : dlsym(library, "pread64");
  memcpy(&bare, &found, sizeof bare);
  const int fd = open(path, O_RDONLY);
  anywhere = any && fd >= 0 ? (uint64_t)lseek(fd, 0, SEEK_END) : 0;
  double* plain = malloc(sizeof(double) * (size_t)pairs);
  double* more = malloc(sizeof(double) * (size_t)pairs);
  if (found == NULL || fd < 0 || plain == NULL || more == NULL) {
    fprintf(stderr, "%s: cannot be measured\n", path);
    return 2;
  }
  for (long i = 0; i < pairs; ++i) {
    const int first = i % 2 == 0;
    const double one = run_batch(first ? bare : seen, fd);
    const double other = run_batch(first ? seen : bare, fd);
    plain[i] = first ? one : other;
    more[i] = first ? other - one : one - other;
  }
  qsort(plain, (size_t)pairs, sizeof *plain, compare);
  qsort(more, (size_t)pairs, sizeof *more, compare);
  printf("%.2f %.2f\n", plain[pairs / 2], more[pairs / 2]);
  return 0;
}
#endif

int main(int argc, char** argv) {
  if ((argc == 7 || argc == 8) && strcmp(argv[1], "read") == 0 && atol(argv[4]) > 0 && atol(argv[5]) > 0) {
    return read_all(argv[2], argv[3], atol(argv[4]), (size_t)atol(argv[5]), atof(argv[6]) / 1e6,
                    argc == 8 ? strtoul(argv[7], NULL, 10) << 20 : 0);
  }
  if (argc == 4 && strcmp(argv[1], "calls") == 0) {
    return calls(argv[2], atol(argv[3]), 0);
  }
  if (argc == 4 && strcmp(argv[1], "random_calls") == 0) {
    return calls(argv[2], atol(argv[3]), 1);
  }
  fprintf(stderr, "reader read PATTERN PATH READS PIECE MICROSECONDS | reader calls|random_calls FILE PAIRS\n");
  return 2;
}
