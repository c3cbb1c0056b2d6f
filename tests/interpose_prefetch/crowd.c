// Very many files, or very many processes. Prints a checksum of all that was read.
//   crowd files FOLDER COUNT     has the files 0, 1, 2 ... of the folder open at once, and reads in each at a constant distance
//   crowd processes FILE ROUNDS  so many times: twenty children, each with ten children of its own, all of which read the file at once
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { reads = 8, distance = 200 << 10, piece = 5000, children = 20, grandchildren = 10 };

static uint64_t sum_of(int fd, off_t from) {
  uint64_t sum = 1469598103934665603U;
  unsigned char text[piece];
  for (int number = 0; number < reads; ++number) {
    const ssize_t got = pread(fd, text, sizeof text, from + (off_t)number * distance);
    for (ssize_t i = 0; i < got; ++i) {
      sum = (sum ^ text[i]) * 1099511628211U;
    }
  }
  return sum;
}

static int files(const char* folder, long count) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return 1;
  }
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  int* open_files = malloc(sizeof(int) * (size_t)count);
  for (long number = 0; number < count; ++number) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%ld", folder, number);
    open_files[number] = open(path, O_RDONLY);
    if (open_files[number] < 0) {
      perror(path);
      return 1;
    }
  }
  uint64_t all = 0;
  for (long number = 0; number < count; ++number) {
    all = all * 31 + sum_of(open_files[number], number % 7);
  }
  // The numbers of descriptors are the program's own, too.
  printf("%016llx %d\n", (unsigned long long)all, dup(0));
  free(open_files);
  return 0;
}

static int tell(int out, const char* path, int inherited, int number) {
  const int own = open(path, O_RDONLY);
  const uint64_t sums = sum_of(own, number * 1000) + sum_of(inherited, number * 3000);
  close(own);
  return own < 0 || write(out, &sums, sizeof sums) != sizeof sums;
}

static int wait_for(int count) {
  int bad = 0;
  for (int status = 0; count > 0; --count) {
    bad |= wait(&status) < 0 || status != 0;
  }
  return bad;
}

static int processes(const char* path, long rounds) {
  int ends[2];
  const int fd = open(path, O_RDONLY);
  if (fd < 0 || pipe(ends) != 0) {
    return 1;
  }
  uint64_t all = 0;
  for (long round = 0; round < rounds; ++round) {
    for (int child = 0; child < children; ++child) {
      if (fork() == 0) {
        int bad = tell(ends[1], path, fd, child);
        for (int grandchild = 0; grandchild < grandchildren; ++grandchild) {
          if (fork() == 0) {
            _exit(tell(ends[1], path, fd, child * grandchildren + grandchild));
          }
        }
        bad |= wait_for(grandchildren);
        _exit(bad);
      }
    }
    if (wait_for(children) != 0) {
      return 1;
    }
    // All of them fit into the pipe.
    for (int number = 0; number < children * (grandchildren + 1); ++number) {
      uint64_t sum = 0;
      if (read(ends[0], &sum, sizeof sum) != sizeof sum) {
        return 1;
      }
      all += sum;  // in any order
    }
  }
  printf("%016llx\n", (unsigned long long)all);
  return 0;
}

int main(int count, char** words) {
  if (count == 4 && strcmp(words[1], "files") == 0) {
    return files(words[2], atol(words[3]));
  }
  return count == 4 && strcmp(words[1], "processes") == 0 ? processes(words[2], atol(words[3])) : 2;
}
