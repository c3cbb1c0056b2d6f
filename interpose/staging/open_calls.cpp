// The calls by which descriptors come and go.
#include <cerrno>
#include <cstdarg>

#include "descriptors.hpp"
#include "libc.hpp"
#include "opening.hpp"
#include "own_descriptors.hpp"
#include "program_files.hpp"
#include "within.hpp"

using namespace dovetail::interpose::staged;
using dovetail::base::has_mode;

namespace {

template <class Call>
int open_by(int folder, const char* path, int flags, const Call& call) {
  if (Within::is_now() && is_own_process()) {
    return keep_own(call(flags));
  }
  Opening opening(folder, path, flags);
  if (opening.error() != 0) {
    return fail(opening.error());
  }
  return opening.opened(call(opening.flags()));
}

int keep_if_own(int made) noexcept { return Within::is_now() && is_own_process() ? keep_own(made) : made; }

mode_t mode_of(int flags, va_list rest) { return has_mode(flags) ? va_arg(rest, mode_t) : 0; }

// One of the library's that a call of the program, and not of its child, is about.
bool is_hidden(int descriptor) noexcept { return is_own(descriptor) && !Within::is_now() && is_own_process(); }

// Such a lock ends when the process closes any descriptor of the file, and staging has descriptors of its own.
int settle_for_lock(int fd, int kind) noexcept {
  return kind == F_UNLCK ? 0 : settle_descriptor(fd, "the program locks a part of it (fcntl)");
}

// What the descriptor led to is closed by the system.
int replace(int from, int to) {
  if (to >= 0) {
    copy_description(from, to);
  }
  return to;
}

}  // namespace

DOVETAIL_CALL int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return open_by(AT_FDCWD, path, flags, [&](int with) { return libc::open64(path, with, mode); });
}
DOVETAIL_CALL int openat64(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return open_by(folder, path, flags, [&](int with) { return libc::openat64(folder, path, with, mode); });
}
DOVETAIL_CALL int creat64(const char* path, mode_t mode) { return open64(path, O_WRONLY | O_CREAT | O_TRUNC, mode); }
DOVETAIL_CALL int __open_2(const char* path, int flags) {
  return open_by(AT_FDCWD, path, flags, [&](int with) { return libc::__open_2(path, with); });
}
DOVETAIL_CALL int __openat_2(int folder, const char* path, int flags) {
  return open_by(folder, path, flags, [&](int with) { return libc::__openat_2(folder, path, with); });
}
DOVETAIL_CALL int mkstemp64(char* path) { return opened_new(libc::mkstemp64(path)); }
DOVETAIL_CALL int mkostemp64(char* path, int flags) { return opened_new(libc::mkostemp64(path, flags)); }
DOVETAIL_CALL int mkstemps64(char* path, int ending) { return opened_new(libc::mkstemps64(path, ending)); }
DOVETAIL_CALL int mkostemps64(char* path, int ending, int flags) {
  return opened_new(libc::mkostemps64(path, ending, flags));
}

// An error of a drain behind the program is told once. The descriptor is closed in any case, as by the system.
DOVETAIL_CALL int close(int fd) {
  if (is_own(fd) && is_own_process()) {
    if (!Within::is_now()) {
      return fail(EBADF);
    }
    forget_own(fd);
    return libc::close(fd);
  }
  const int error = remove_description(fd);
  const int result = libc::close(fd);
  if (result == 0 && error != 0) {
    return fail(error);
  }
  return result;
}
DOVETAIL_CALL int close_range(unsigned first, unsigned last, int flags) noexcept {
  constexpr int close_on_exec = 4;
  if ((flags & close_on_exec) != 0 || !is_active()) {
    return libc::close_range(first, last, flags);
  }
  remove_descriptions(first, last);
  return close_around(
      first, last, [](unsigned from, unsigned to, int with) { return libc::close_range(from, to, with); }, flags);
}
DOVETAIL_CALL void closefrom(int first) noexcept {
  const unsigned from = first < 0 ? 0 : static_cast<unsigned>(first);
  if (!is_active() || close_range(from, UINT32_MAX, 0) != 0) {
    libc::closefrom(first);
  }
}

DOVETAIL_CALL int dup(int fd) noexcept { return replace(fd, libc::dup(fd)); }
DOVETAIL_CALL int dup2(int fd, int to) noexcept {
  return is_hidden(to) ? fail(EBUSY) : replace(fd, libc::dup2(fd, to));
}
DOVETAIL_CALL int dup3(int fd, int to, int flags) noexcept {
  return is_hidden(to) ? fail(EBUSY) : replace(fd, libc::dup3(fd, to, flags));
}

// What the library makes besides files: its listener, and the runtime that drains in the background.
DOVETAIL_CALL int eventfd(unsigned value, int flags) noexcept { return keep_if_own(libc::eventfd(value, flags)); }
DOVETAIL_CALL int epoll_create1(int flags) noexcept { return keep_if_own(libc::epoll_create1(flags)); }
DOVETAIL_CALL int inotify_init1(int flags) noexcept { return keep_if_own(libc::inotify_init1(flags)); }

DOVETAIL_CALL int fcntl64(int fd, int command, ...) {
  va_list rest;
  va_start(rest, command);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  if (command == F_SETFL && (reinterpret_cast<std::intptr_t>(argument) & O_DIRECT) != 0) {
    if (const int error = settle_descriptor(fd, "O_DIRECT was set")) {
      return fail(error);
    }
  }
  if (command == F_SETLK || command == F_SETLKW) {
    if (const int error =
            settle_for_lock(fd, argument != nullptr ? static_cast<flock64*>(argument)->l_type : F_UNLCK)) {
      return fail(error);
    }
  }
  if (command == F_SETLEASE && static_cast<int>(reinterpret_cast<std::intptr_t>(argument)) != F_UNLCK) {
    if (const int error = settle_descriptor(fd, "the program takes a lease")) {
      return fail(error);
    }
  }
  const int result = libc::fcntl64(fd, command, argument);
  if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) {
    return replace(fd, result);
  }
  if (command == F_SETFL && result == 0) {
    if (const DescriptionInUse description = description_of(fd); description != nullptr) {
      description->flags = libc::fcntl64(fd, F_GETFL);
    }
  }
  return result;
}

DOVETAIL_CALL int lockf64(int fd, int command, off64_t bytes) {
  const int error = settle_for_lock(fd, command == F_LOCK || command == F_TLOCK ? F_WRLCK : F_UNLCK);
  return error != 0 ? fail(error) : libc::lockf64(fd, command, bytes);
}

// Where a file offset has 64 bits anyway, the two names of a call are one function.
static_assert(sizeof(off_t) == 8);
extern "C" {
int open(const char*, int, ...) DOVETAIL_ALIAS("open64");
int openat(int, const char*, int, ...) DOVETAIL_ALIAS("openat64");
int creat(const char*, mode_t) DOVETAIL_ALIAS("creat64");
int __open64_2(const char*, int) DOVETAIL_ALIAS("__open_2");
int __openat64_2(int, const char*, int) DOVETAIL_ALIAS("__openat_2");
int mkstemp(char*) DOVETAIL_ALIAS("mkstemp64");
int mkostemp(char*, int) DOVETAIL_ALIAS("mkostemp64");
int mkstemps(char*, int) DOVETAIL_ALIAS("mkstemps64");
int mkostemps(char*, int, int) DOVETAIL_ALIAS("mkostemps64");
int fcntl(int, int, ...) DOVETAIL_ALIAS("fcntl64");
int lockf(int, int, off_t) DOVETAIL_ALIAS("lockf64");
}
