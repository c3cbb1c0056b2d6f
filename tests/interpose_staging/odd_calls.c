/* Calls that a program in Python cannot make. The first argument says which, the second is a file. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

int main(int count, char** arguments) {
  if (count != 3) {
    return 2;
  }
  file = open(arguments[2], O_RDWR | O_CREAT | O_APPEND, 0644);
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
