// What is done around a call that reads.
#pragma once

#include <cerrno>
#include <cstdint>

#include "libc.hpp"
#include "predictor.hpp"
#include "recorder.hpp"
#include "replayer.hpp"
#include "watching.hpp"

#define DOVETAIL_CALL extern "C" [[gnu::visibility("default")]]
#define DOVETAIL_ALIAS(name) __attribute__((alias(name), visibility("default")))

namespace dovetail::prefetching {

/// A call of a program on a descriptor that is of interest.
class Reading {
 public:
  Reading(int number, Descriptor& descriptor) noexcept
      : number_(number), descriptor_(descriptor), begun_(recorder.on() || replayer.timed() ? nanoseconds() : 0) {}

  /// It has read this.
  void read(std::uint64_t offset, std::uint64_t bytes) noexcept {
    if (recorder.on()) {
      recorder.note(descriptor_, Observation::Kind::read, offset, bytes, begun_, nanoseconds());
    } else if (descriptor_.is_detected()) {
      predictor.note(number_, descriptor_, offset, bytes);
    } else {
      replayer.note(number_, descriptor_, offset, bytes, begun_ == 0 ? 0 : nanoseconds() - begun_);
    }
  }
  /// It has read so many bytes, up to where the file position is now.
  void read_here(std::int64_t bytes) noexcept {
    const int error = errno;
    if (descriptor_.is_detected()) {
      predictor.note_on(number_, descriptor_, bytes);
      errno = error;
      return;
    }
    const off64_t position = lseek64_of(number_);
    if (bytes > 0 && position >= bytes) {
      read(static_cast<std::uint64_t>(position - bytes), static_cast<std::uint64_t>(bytes));
    }
    errno = error;
  }
  /// It has read so many bytes from there.
  void read_at(off64_t offset, std::int64_t bytes) noexcept {
    if (bytes > 0 && offset >= 0) {
      const int error = errno;
      read(static_cast<std::uint64_t>(offset), static_cast<std::uint64_t>(bytes));
      errno = error;
    }
  }
  static off64_t lseek64_of(int number) noexcept { return libc::lseek64(number, 0, SEEK_CUR); }

 private:
  int number_;
  Descriptor& descriptor_;
  std::uint64_t begun_;
};

/// What the C library does when a fortified program is about to overrun a buffer: ends it.
[[noreturn]] inline void buffer_overrun() noexcept {
  if (auto* fail = reinterpret_cast<void (*)()>(dlsym(RTLD_NEXT, "__chk_fail"))) {
    fail();
  }
  __builtin_trap();
}

/// A descriptor that a call has given: it was something else before.
inline int opened(int descriptor) noexcept {
  if (descriptor >= 0) {
    forget(descriptor);
    if (replayer.on()) {
      // Advice begins before the program reads.
      watched(descriptor);
    }
  }
  return descriptor;
}

}  // namespace dovetail::prefetching
