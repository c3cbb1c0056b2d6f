// What is done around a call that reads.
#pragma once

#include <cerrno>
#include <cstdint>

#include "guide.hpp"
#include "libc.hpp"
#include "predictor.hpp"
#include "recorder.hpp"
#include "replayer.hpp"
#include "watching.hpp"

namespace dovetail::prefetching {

/// When a call begins, if a report or what is observed counts how long reads take; otherwise 0.
inline std::uint64_t beginning() noexcept {
  return recorder.on() || replayer.timed() || guide.timed() || predictor.timed() ? nanoseconds() : 0;
}

/// A call of a program on a descriptor that is of interest.
class Reading {
 public:
  Reading(int number, Descriptor& descriptor) noexcept : Reading(number, descriptor, beginning()) {}
  /// Of one that is over already. `begun`: `beginning()` before it.
  Reading(int number, Descriptor& descriptor, std::uint64_t begun) noexcept
      : number_(number), descriptor_(descriptor), begun_(begun) {}

  /// It has read this.
  void read(std::uint64_t offset, std::uint64_t bytes) noexcept {
    if (recorder.on()) {
      recorder.note(descriptor_, Observation::Kind::read, offset, bytes, begun_, nanoseconds());
      if (!recorder.traces()) {
        return;
      }
    }
    const std::uint64_t took = begun_ == 0 ? 0 : nanoseconds() - begun_;
    if (descriptor_.is_detected()) {
      predictor.note(number_, descriptor_, offset, bytes, took);
    } else if (descriptor_.is_guided()) {
      guide.note(number_, descriptor_, offset, bytes, took);
    } else {
      replayer.note(number_, descriptor_, offset, bytes, took);
    }
  }
  /// It has read so many bytes, up to where the file position is now.
  void read_here(std::int64_t bytes) noexcept {
    const int error = errno;
    const std::int64_t from = bytes <= 0 ? -1 : begin_of(bytes);
    if (from >= 0) {
      read(static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(bytes));
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
  // Where a read from the file position began; negative: not known. What `lseek` and earlier reads have told spares a system call.
  std::int64_t begin_of(std::int64_t bytes) noexcept {
    if (!descriptor_.is_detected() && !descriptor_.is_guided()) {
      return lseek64_of(number_) - bytes;
    }
    std::atomic<std::uint64_t>& position = detections[number_].position;
    std::uint64_t from = position.load(std::memory_order_relaxed);
    if (from == 0) {
      const off64_t now = lseek64_of(number_);
      if (now < bytes) {
        return -1;
      }
      from = static_cast<std::uint64_t>(now - bytes) + 1;
    }
    position.store(from + static_cast<std::uint64_t>(bytes), std::memory_order_relaxed);
    return static_cast<std::int64_t>(from - 1);
  }

  int number_;
  Descriptor& descriptor_;
  std::uint64_t begun_;
};

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

/// The same of a call that was given a path and flags.
inline int opened(int descriptor, int folder, const char* path, int flags) noexcept {
  constexpr int not_to_read = O_ACCMODE | O_CREAT | O_DIRECTORY | O_PATH;
  if (descriptor >= 0 && predictor.on() && (flags & not_to_read) == O_RDONLY &&
      active.load(std::memory_order_relaxed)) {
    predictor.opened(path, folder);
  }
  return opened(descriptor);
}

}  // namespace dovetail::prefetching
