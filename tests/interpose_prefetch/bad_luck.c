// bad_luck HOW FILE: what programs do that a library inside of them must bear.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char data[1 << 16];

static int read_all(const char* path) {
  const int fd = open(path, O_RDONLY);
  unsigned long sum = 0;
  ssize_t done = 0;
  while (fd >= 0 && (done = read(fd, data, sizeof data)) > 0) {
    for (ssize_t i = 0; i < done; ++i) {
      sum = sum * 31 + (unsigned char)data[i];
    }
  }
  printf("%s %lx %zd\n", fd < 0 ? strerror(errno) : "read", sum, done);
  fflush(stdout);
  return fd;
}

static void* read_in_thread(void* path) {
  read_all(path);
  return NULL;
}

int main(int count, char** words) {
  if (count != 3) {
    return 2;
  }
  const char* how = words[1];
  const char* path = words[2];
  if (strcmp(how, "descriptors") == 0) {
    // None is left but one.
    const struct rlimit limit = {4, 4};
    setrlimit(RLIMIT_NOFILE, &limit);
    printf("%d\n", read_all(path));
    printf("%d\n", read_all(path));
  } else if (strcmp(how, "closed") == 0) {
    for (int fd = 3; fd < 1024; ++fd) {
      close(fd);
    }
    const int fd = read_all(path);
    syscall(SYS_close, fd);  // unseen
    printf("%d %d\n", fd, open("/dev/null", O_RDONLY));
    printf("%zd\n", read(fd, data, 10));
  } else if (strcmp(how, "forks") == 0) {
    for (int i = 0; i < 3; ++i) {
      fork();
    }
    read_all(path);
    while (wait(NULL) > 0) {
    }
  } else if (strcmp(how, "filter") == 0) {
    // Only what the program itself needs: everything else would kill it.
    const struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_read, 7, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 6, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 5, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_newfstatat, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 2, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof filter / sizeof *filter, (struct sock_filter*)filter};
    printf("begin\n");
    fflush(stdout);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) {
      return 77;
    }
    read_all(path);
  } else if (strcmp(how, "first_thread_ends") == 0) {
    pthread_t thread;
    read_all(path);
    pthread_create(&thread, NULL, read_in_thread, (void*)path);
    pthread_exit(NULL);
  } else if (strcmp(how, "namespace") == 0) {
    read_all(path);
    printf("%d\n", unshare(CLONE_NEWUSER) == 0 || errno == EPERM || errno == ENOSPC);
  } else if (strcmp(how, "rights") == 0) {
    read_all(path);
    printf("%d\n", setresgid(getgid(), getgid(), getgid()) + setresuid(getuid(), getuid(), getuid()));
    read_all(path);
  } else if (strcmp(how, "killed") == 0) {
    read_all(path);
    raise(SIGKILL);
  } else {
    return 2;
  }
  return 5;
}
