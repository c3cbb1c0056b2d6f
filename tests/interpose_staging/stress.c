/* Threads open, write, read, rename, link, remove, map, synchronize and close the same few files at once, with random yields. What a thread has written it
   reads again, since each has blocks of its own in every file. At the end each block of each file is empty or whole. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { threads = 6, files = 4, block = 4096, blocks = 24, words = block / 8 };

static unsigned long seed;
static int rounds;
static const char* folder;

struct Numbers {
  uint64_t state;
};
static unsigned below(struct Numbers* numbers, unsigned limit) {
  numbers->state = numbers->state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(numbers->state >> 33) % limit;
}

static void maybe_yield(struct Numbers* numbers) {
  for (unsigned i = below(numbers, 4); i > 2; --i) {
    sched_yield();
  }
}

static void wrong(const char* what, unsigned long long one, unsigned long long other) {
  fprintf(stderr, "stress: %s: %llu, %llu, errno %d\n", what, one, other, errno);
  _exit(5);
}

static void name_of(unsigned number, char* path) { snprintf(path, 4096, "%s/f%u", folder, number); }

static void write_and_read(int fd, uint64_t who, unsigned place, uint64_t step) {
  uint64_t data[words];
  uint64_t got[words];
  const off_t offset = ((off_t)place * threads + (off_t)who) * block;
  for (unsigned i = 0; i < words; ++i) {
    data[i] = (who + 1) << 40 | (step << 8) | (i & 255);
  }
  if (pwrite(fd, data, block, offset) != block) {
    wrong("pwrite", who, step);
  }
  if (pread(fd, got, block, offset) != block) {
    wrong("pread", who, step);
  }
  for (unsigned i = 0; i < words; ++i) {
    if (got[i] != data[i]) {
      wrong("read back", data[i], got[i]);
    }
  }
}

static void change_name(struct Numbers* numbers) {
  char from[4096];
  char to[4096];
  name_of(below(numbers, files), from);
  name_of(below(numbers, files), to);
  const unsigned which = below(numbers, 8);
  if (which == 0) {
    unlink(to);
  } else if (which == 1) {
    link(from, to);
  } else if (which < 5 && rename(from, to) != 0 && errno != ENOENT) {
    wrong("rename", which, 0);
  }
}

static void* work(void* argument) {
  const uint64_t who = (uint64_t)(uintptr_t)argument;
  struct Numbers numbers = {seed * 1000003u + who};
  char path[4096];
  for (int step = 0; step < rounds; ++step) {
    name_of(below(&numbers, files), path);
    const int fd = open(path, O_RDWR | O_CREAT | (below(&numbers, 6) == 0 ? O_DSYNC : 0), 0644);
    if (fd < 0) {
      wrong("open", who, (unsigned long long)step);
    }
    for (unsigned calls = below(&numbers, 6); calls > 0; --calls) {
      write_and_read(fd, who, below(&numbers, blocks), (uint64_t)step);
      maybe_yield(&numbers);
    }
    struct stat status;
    const unsigned which = below(&numbers, 16);
    if (which == 0 && fsync(fd) != 0) {
      wrong("fsync", who, (unsigned long long)step);
    } else if (which == 1) {
      void* const memory = mmap(NULL, block, PROT_READ, MAP_SHARED, fd, 0);
      if (memory == MAP_FAILED || munmap(memory, block) != 0) {
        wrong("mmap", who, (unsigned long long)step);
      }
    } else if (which == 2 && (stat(path, &status) != 0 && errno != ENOENT)) {
      wrong("stat", who, (unsigned long long)step);
    } else if (which == 3) {
      const int copy = dup(fd);
      write_and_read(copy, who, 0, (uint64_t)step);
      close(copy);
    }
    maybe_yield(&numbers);
    if (close(fd) != 0) {
      wrong("close", who, (unsigned long long)step);
    }
    change_name(&numbers);
  }
  return NULL;
}

static void check(unsigned number) {
  char path[4096];
  uint64_t got[words];
  name_of(number, path);
  const int fd = open(path, O_RDONLY);
  for (off_t at = 0; fd >= 0 && pread(fd, got, block, at * block) == block; ++at) {
    for (unsigned i = 0; i < words; ++i) {
      const uint64_t whole = got[0] == 0 ? 0 : (got[0] | (i & 255));
      if (got[i] != whole || (whole != 0 && whole >> 40 != (uint64_t)(at % threads) + 1)) {
        wrong("at the end", got[0], got[i]);
      }
    }
  }
  if (fd >= 0) {
    close(fd);
  }
}

int main(int count, char** arguments) {
  pthread_t all[threads];
  if (count != 4) {
    return 2;
  }
  folder = arguments[1];
  seed = strtoul(arguments[2], NULL, 10);
  rounds = atoi(arguments[3]);
  for (uintptr_t i = 0; i < threads; ++i) {
    pthread_create(&all[i], NULL, work, (void*)i);
  }
  for (unsigned i = 0; i < threads; ++i) {
    pthread_join(all[i], NULL);
  }
  for (unsigned i = 0; i < files; ++i) {
    check(i);
  }
  return 0;
}
