/* Calls that a program in Python cannot make. The first argument says which, the second is a file. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static int file;

static void* write_and_sync(void* ignored) {
  static char data[100000];
  for (;;) {
    if (pwrite(file, data, sizeof data, 0) != sizeof data || fsync(file) != 0) {
      exit(4);
    }
  }
  return ignored;
}

/* A thread is cancelled in the middle of its calls: it ends, and the others go on. */
static int cancel(void) {
  for (int i = 0; i < 30; ++i) {
    pthread_t thread;
    void* result = NULL;
    char byte;
    if (pthread_create(&thread, NULL, write_and_sync, NULL) != 0) {
      return 1;
    }
    while (pread(file, &byte, 1, 99999) != 1) {
    }
    if (pthread_cancel(thread) != 0 || pthread_join(thread, &result) != 0 || result != PTHREAD_CANCELED) {
      return 3;
    }
  }
  return 0;
}

static int read_in_child(void* ignored) {
  char got[5] = "";
  return ignored == NULL && pread(file, got, 5, 0) == 5 && memcmp(got, "hello", 5) == 0 ? 0 : 5;
}

static int child_by_clone(void) {
  static char stack[65536] __attribute__((aligned(16)));
  int status = 0;
  if (write(file, "hello", 5) != 5) {
    return 1;
  }
  const int child = clone(read_in_child, stack + sizeof stack, SIGCHLD, NULL);
  return child > 0 && waitpid(child, &status, 0) == child ? WEXITSTATUS(status) : 3;
}

static int child_by_fork(void) {
  int status = 0;
  if (write(file, "hello", 5) != 5) {
    return 1;
  }
  const int child = _Fork();
  if (child == 0) {
    _exit(read_in_child(NULL));
  }
  return child > 0 && waitpid(child, &status, 0) == child ? WEXITSTATUS(status) : 3;
}

/* A stream gets the descriptor of a file that has been written: by dup2, and by the lowest number. */
static int streams(void) {
  static char data[2000000];
  if (write(file, data, sizeof data) != sizeof data || dup2(file, 1) != 1) {
    return 1;
  }
  printf("hello");
  fflush(stdout);
  FILE* other = fopen("/dev/null", "w");
  if (other == NULL || dup2(file, fileno(other)) < 0) {
    return 1;
  }
  fputs(" other", other);
  return fclose(other) == 0 ? 0 : 1;
}

static long long walked;
static int visit(const char* path, const struct stat* status, int kind, struct FTW* place) {
  walked = kind == FTW_F && path != NULL && place != NULL ? (long long)status->st_size : walked;
  return 0;
}
static int visit_simply(const char* path, const struct stat* status, int kind) {
  walked = kind == FTW_F && path != NULL ? (long long)status->st_size : walked;
  return 0;
}

/* The size of a file is that of all that was written to it, also for the calls that walk through folders. */
static int walk(const char* path) {
  static char data[5000];
  char folder[4096];
  long long found[3] = {0, 0, 0};
  snprintf(folder, sizeof folder, "%s", path);
  *strrchr(folder, '/') = 0;
  if (write(file, data, sizeof data) != sizeof data || nftw(folder, visit, 4, FTW_PHYS) != 0) {
    return 1;
  }
  found[0] = walked;
  walked = 0;
  if (ftw(folder, visit_simply, 4) != 0) {
    return 1;
  }
  found[1] = walked;
  char* folders[] = {folder, NULL};
  FTS* all = fts_open(folders, FTS_PHYSICAL, NULL);
  for (FTSENT* entry = fts_read(all); entry != NULL; entry = fts_read(all)) {
    found[2] = entry->fts_info == FTS_F ? (long long)entry->fts_statp->st_size : found[2];
  }
  fts_close(all);
  printf("%lld %lld %lld\n", found[0], found[1], found[2]);
  return 0;
}

/* The child of a vfork becomes a program that the library does not stand before. */
static int child_by_vfork(const char* path) {
  static char data[20000000];
  int status = 0;
  if (write(file, data, sizeof data) != sizeof data || close(file) != 0) {
    return 1;
  }
  file = open(path, O_WRONLY | O_APPEND);
  if (write(file, data, sizeof data) != sizeof data) {
    return 1;
  }
  fflush(stdout);
  const pid_t child = vfork();
  if (child == 0) {
    char* const no_environment[] = {NULL};
    execle("/usr/bin/wc", "wc", "-c", path, NULL, no_environment);
    _exit(4);
  }
  return child > 0 && waitpid(child, &status, 0) == child ? WEXITSTATUS(status) : 3;
}

enum { large = 16 << 20 };
static atomic_int reads;

static void* read_for_ever(void* ignored) {
  char* data = malloc(large);
  while (data != NULL && pread(file, data, large, 0) == large) {
    atomic_fetch_add(&reads, 1);
  }
  free(data);
  return ignored;
}

/* Threads read all the time, while the file is given up. */
static int read_and_map(void) {
  static char data[large];
  pthread_t threads[8];
  if (write(file, data, sizeof data) != sizeof data) {
    return 1;
  }
  for (int i = 0; i < 8; ++i) {
    pthread_create(&threads[i], NULL, read_for_ever, NULL);
  }
  while (atomic_load(&reads) < 24) {
    sched_yield();
  }
  void* memory = mmap(NULL, sizeof data, PROT_READ, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED || ftruncate(file, 1000) != 0) {
    return 3;
  }
  for (int i = 0; i < 8; ++i) {
    pthread_join(threads[i], NULL);
  }
  return 0;
}

static sigjmp_buf before;
static void leave(int number) { siglongjmp(before, number); }

/* A signal handler leaves calls in the middle; what is written later is written. */
static int jump(void) {
  static char data[512]; /* so that most jumps are out of the beginning or the end of a call */
  struct itimerval soon = {{0, 0}, {0, 0}};
  signal(SIGALRM, leave);
  for (volatile int i = 0; i < 200; ++i) {
    soon.it_value.tv_usec = 50 + i * 10;
    if (sigsetjmp(before, 1) == 0) {
      setitimer(ITIMER_REAL, &soon, NULL);
      for (;;) {
        if (pwrite(file, data, sizeof data, 0) < 0) {
          return 1;
        }
      }
    }
  }
  return ftruncate(file, 0) == 0 && pwrite(file, "hello", 5, 0) == 5 ? 0 : 3;
}

int main(int count, char** arguments) {
  if (count != 3) {
    return 2;
  }
  if (strcmp(arguments[1], "jump") == 0) {
    file = open(arguments[2], O_RDWR | O_CREAT, 0644);
    return jump();
  }
  file = open(arguments[2], O_RDWR | O_CREAT | O_APPEND, 0644);
  if (strcmp(arguments[1], "walk") == 0) {
    return walk(arguments[2]);
  }
  if (strcmp(arguments[1], "vfork") == 0) {
    return child_by_vfork(arguments[2]);
  }
  if (strcmp(arguments[1], "map") == 0) {
    return read_and_map();
  }
  if (strcmp(arguments[1], "cancel") == 0) {
    return cancel();
  }
  if (strcmp(arguments[1], "clone") == 0) {
    return child_by_clone();
  }
  if (strcmp(arguments[1], "fork") == 0) {
    return child_by_fork();
  }
  return strcmp(arguments[1], "streams") == 0 ? streams() : 2;
}
