// The calls by which descriptors come and go, and those that a process can make only with one thread.
#include <cstdarg>

#include "call.hpp"
#include "helper.hpp"

using dovetail::base::has_mode;
using dovetail::prefetching::active;
using dovetail::prefetching::forget;
using dovetail::prefetching::forget_from;
using dovetail::prefetching::helper;
using dovetail::prefetching::opened;
namespace libc = dovetail::prefetching::libc;

DOVETAIL_CALL int open64(const char* path, int flags, ...) {
  mode_t mode = 0;
  if (has_mode(flags)) {
    va_list rest;
    va_start(rest, flags);
    mode = va_arg(rest, mode_t);
    va_end(rest);
  }
  return opened(libc::open64(path, flags, mode), AT_FDCWD, path, flags);
}

DOVETAIL_CALL int openat64(int folder, const char* path, int flags, ...) {
  mode_t mode = 0;
  if (has_mode(flags)) {
    va_list rest;
    va_start(rest, flags);
    mode = va_arg(rest, mode_t);
    va_end(rest);
  }
  return opened(libc::openat64(folder, path, flags, mode), folder, path, flags);
}

DOVETAIL_CALL int creat64(const char* path, mode_t mode) { return opened(libc::creat64(path, mode)); }
DOVETAIL_CALL int __open_2(const char* path, int flags) {
  return opened(libc::__open_2(path, flags), AT_FDCWD, path, flags);
}
DOVETAIL_CALL int __openat_2(int folder, const char* path, int flags) {
  return opened(libc::__openat_2(folder, path, flags), folder, path, flags);
}
DOVETAIL_CALL int dup(int fd) noexcept { return opened(libc::dup(fd)); }
DOVETAIL_CALL int dup2(int fd, int to) noexcept {
  const int given = libc::dup2(fd, to);
  return given == fd ? given : opened(given);
}
DOVETAIL_CALL int dup3(int fd, int to, int flags) noexcept { return opened(libc::dup3(fd, to, flags)); }

// Before the call: afterwards another thread may have got the number.
DOVETAIL_CALL int close(int fd) {
  forget(fd);
  return libc::close(fd);
}
DOVETAIL_CALL int close_range(unsigned first, unsigned last, int flags) noexcept {
  constexpr int close_on_exec = 4;
  if ((flags & close_on_exec) == 0) {
    forget_from(first, last);
  }
  return libc::close_range(first, last, flags);
}
DOVETAIL_CALL void closefrom(int first) noexcept {
  forget_from(first < 0 ? 0 : static_cast<unsigned>(first), UINT32_MAX);
  libc::closefrom(first);
}

extern "C" {
int open(const char*, int, ...) DOVETAIL_ALIAS("open64");
int openat(int, const char*, int, ...) DOVETAIL_ALIAS("openat64");
int creat(const char*, mode_t) DOVETAIL_ALIAS("creat64");
int __open64_2(const char*, int) DOVETAIL_ALIAS("__open_2");
int __openat64_2(int, const char*, int) DOVETAIL_ALIAS("__openat_2");
}

// A program that is about to forbid itself system calls must not be ended for one of ours.
DOVETAIL_CALL int prctl(int option, ...) noexcept {
  va_list rest;
  va_start(rest, option);
  const auto second = va_arg(rest, unsigned long);
  const auto third = va_arg(rest, unsigned long);
  const auto fourth = va_arg(rest, unsigned long);
  const auto fifth = va_arg(rest, unsigned long);
  va_end(rest);
  if (option == PR_SET_SECCOMP || option == PR_SET_NO_NEW_PRIVS) {
    active.store(false, std::memory_order_relaxed);
    helper.wait_until_ended();
  }
  return libc::prctl(option, second, third, fourth, fifth);
}

// A namespace is entered by a process with one thread; rights are given up by all threads, of which the C library knows only its own.
DOVETAIL_CALL int unshare(int flags) noexcept {
  helper.wait_until_ended();
  return libc::unshare(flags);
}
#define DOVETAIL_PREFETCH_RIGHTS(name, parameters, arguments) \
  DOVETAIL_CALL int name parameters noexcept {                \
    helper.wait_until_ended();                                \
    return libc::name arguments;                              \
  }
DOVETAIL_PREFETCH_RIGHTS(setuid, (uid_t user), (user))
DOVETAIL_PREFETCH_RIGHTS(seteuid, (uid_t user), (user))
DOVETAIL_PREFETCH_RIGHTS(setreuid, (uid_t real, uid_t effective), (real, effective))
DOVETAIL_PREFETCH_RIGHTS(setresuid, (uid_t real, uid_t effective, uid_t saved), (real, effective, saved))
DOVETAIL_PREFETCH_RIGHTS(setgid, (gid_t group), (group))
DOVETAIL_PREFETCH_RIGHTS(setegid, (gid_t group), (group))
DOVETAIL_PREFETCH_RIGHTS(setregid, (gid_t real, gid_t effective), (real, effective))
DOVETAIL_PREFETCH_RIGHTS(setresgid, (gid_t real, gid_t effective, gid_t saved), (real, effective, saved))
DOVETAIL_PREFETCH_RIGHTS(setgroups, (std::size_t count, const gid_t* groups), (count, groups))
