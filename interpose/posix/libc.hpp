// The functions that these here stand in front of: those of the C library, or of another library that stands behind this one.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>

namespace dovetail::posix {

/// Before this library has been initialised (calls from constructors that run earlier), bare system calls.
struct Libc {
  ssize_t (*read)(int, void*, std::size_t);
  ssize_t (*write)(int, const void*, std::size_t);
  ssize_t (*readv)(int, const iovec*, int);
  ssize_t (*writev)(int, const iovec*, int);
  ssize_t (*pread)(int, void*, std::size_t, off_t);
  ssize_t (*pwrite)(int, const void*, std::size_t, off_t);
  ssize_t (*preadv)(int, const iovec*, int, off_t);
  ssize_t (*pwritev)(int, const iovec*, int, off_t);
  ssize_t (*preadv2)(int, const iovec*, int, off_t, int);
  ssize_t (*pwritev2)(int, const iovec*, int, off_t, int);
  int (*fsync)(int);
  int (*fdatasync)(int);
};
extern Libc libc;

/// What the C library does when a fortified program is about to overrun a buffer: ends it.
[[noreturn]] void buffer_overrun() noexcept;

}  // namespace dovetail::posix
