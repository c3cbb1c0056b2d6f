// reader strided FILE READS PIECE MICROSECONDS: an analysis as figure 5.1 of the Mercury paper: clusters of pieces with small gaps between
// them and steps back within a cluster, and between the clusters what the analysis does not want. Computes for so many microseconds after each read. Prints a checksum and the seconds.
// reader calls FILE PAIRS: what a pread of a cached byte costs in the C library, and how much more the one costs that this program sees.
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

static int strided(const char* path, long reads, size_t piece, double compute) {
  const int fd = open(path, O_RDONLY);
  const off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
  unsigned char* data = malloc(piece);
  if (size < 0 || data == NULL) {
    perror(path);
    return 2;
  }
  uint64_t sum = 0;
  const double start = now();
  off_t base = 0;
  for (long done = 0; done < reads;) {
    // The order of one cluster: ascending, but for a few pieces that are wanted later.
    off_t at[cluster];
    for (int i = 0; i < cluster; ++i) {
      at[i] = base;
      base += (off_t)piece + (off_t)(random_number() % (piece * 2 / 5));
    }
    base += unwanted;
    for (int i = 0; i < cluster; i += 4) {
      const int other = i + (int)(random_number() % (uint64_t)(cluster - i));
      const off_t kept = at[i];
      at[i] = at[other];
      at[other] = kept;
    }
    for (int i = 0; i < cluster && done < reads; ++i, ++done) {
      if (at[i] + (off_t)piece > size || pread(fd, data, piece, at[i]) != (ssize_t)piece) {
        fprintf(stderr, "%s: read %ld of %ld failed\n", path, done, reads);
        return 1;
      }
      for (size_t j = 0; j < piece; j += 512) {
        sum = sum * 31 + data[j];
      }
      for (const double until = now() + compute; compute > 0 && now() < until;) {
      }
    }
  }
  printf("%llu %.6f\n", (unsigned long long)sum, now() - start);
  return 0;
}

static double run_batch(Pread call, int fd) {
  char byte = 0;
  const double start = now();
  for (int i = 0; i < batch; ++i) {
    if (call(fd, &byte, 1, 0) != 1) {
      exit(1);
    }
  }
  return (now() - start) * 1e9 / batch;
}

static int compare(const void* one, const void* other) {
  const double difference = *(const double*)one - *(const double*)other;
  return (difference > 0) - (difference < 0);
}

static int calls(const char* path, long pairs) {
  void* library = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  Pread bare;
  Pread seen = pread;
  void* found = library == NULL ? NULL : dlsym(library, "pread64");
  memcpy(&bare, &found, sizeof bare);
  const int fd = open(path, O_RDONLY);
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

int main(int argc, char** argv) {
  if (argc == 6 && strcmp(argv[1], "strided") == 0) {
    return strided(argv[2], atol(argv[3]), (size_t)atol(argv[4]), atof(argv[5]) / 1e6);
  }
  if (argc == 4 && strcmp(argv[1], "calls") == 0) {
    return calls(argv[2], atol(argv[3]));
  }
  fprintf(stderr, "reader strided FILE READS PIECE MICROSECONDS | reader calls FILE PAIRS\n");
  return 2;
}
