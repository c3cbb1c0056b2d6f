// Stands behind the library: as soon as a lease is given, somebody opens the file.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int fcntl64(int descriptor, int command, ...) {
  int (*next)(int, int, ...) = (int (*)(int, int, ...))dlsym(RTLD_NEXT, "fcntl64");
  va_list rest;
  va_start(rest, command);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  const int result = next(descriptor, command, argument);
  if (command == F_SETLEASE && (intptr_t)argument == F_WRLCK && result == 0) {
    char name[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", descriptor);
    if (syscall(SYS_openat, AT_FDCWD, name, O_RDONLY | O_NONBLOCK) < 0 && errno == EWOULDBLOCK) {
      dprintf(2, "the lease is broken\n");
    }
  }
  return result;
}
