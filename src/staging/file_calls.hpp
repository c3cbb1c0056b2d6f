// What the log on the local tier asks of the operating system. Tests put faults in the place of calls, and end the process at named points.
#pragma once

#include <sys/uio.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "staging/crash_point.hpp"

namespace dovetail::staging {

/// The system's own calls. All block the thread; none suspends a task, also where a library interposes them. From any thread.
///
/// Functions that return a number return what the call of that name does, or a negative errno.
class FileCalls {
 public:
  FileCalls() = default;
  FileCalls(const FileCalls&) = delete;
  FileCalls& operator=(const FileCalls&) = delete;
  virtual ~FileCalls() = default;

  /// Relative to the folder; `O_CLOEXEC` and `O_NOFOLLOW` are added. The caller owns the descriptor.
  virtual int open(int folder, const char* name, int flags) noexcept;
  virtual std::int64_t write(int descriptor, std::span<const iovec> parts, std::uint64_t offset) noexcept;
  virtual std::int64_t read(int descriptor, std::span<std::byte> target, std::uint64_t offset) noexcept;
  virtual int sync(int descriptor, bool data_only) noexcept;
  virtual int resize(int descriptor, std::uint64_t bytes) noexcept;
  virtual int remove(int folder, const char* name) noexcept;
  /// The system begins to bring these written bytes to the device, and the caller goes on. Where it cannot, nothing happens.
  virtual void begin_writeback(int descriptor, std::uint64_t offset, std::size_t bytes) noexcept;
  /// Returns when the device has those bytes. A negative errno: it could not take them, which no sync tells again. Where the system cannot wait, nothing happens.
  virtual int wait_for_writeback(int descriptor, std::uint64_t offset, std::size_t bytes) noexcept;
  /// Of the steady clock, in nanoseconds.
  virtual std::uint64_t now() noexcept;
  virtual void wait_until(std::uint64_t time) noexcept;
  /// Extended attributes of an open file, as fsetxattr, fgetxattr, flistxattr and fremovexattr.
  virtual int set_attribute(int descriptor, const char* name, std::string_view value) noexcept;
  virtual std::int64_t get_attribute(int descriptor, const char* name, std::span<char> value) noexcept;
  virtual std::int64_t list_attributes(int descriptor, std::span<char> names) noexcept;
  virtual int remove_attribute(int descriptor, const char* name) noexcept;
  /// Does nothing.
  virtual void reached(CrashPoint) noexcept {}

  /// Lives as long as the process.
  static FileCalls& system() noexcept;
};

/// What a call returns in the end that is made again whenever a signal has interrupted it (`-EINTR`).
template <class Call>
auto uninterrupted(const Call& call) {
  auto result = call();
  while (result == -EINTR) {
    result = call();
  }
  return result;
}

/// How a transfer of many bytes ended.
struct Transfer {
  std::size_t bytes = 0;  ///< Of those that were wanted, from the first on.
  int error = 0;          ///< An errno; 0 with fewer bytes: the file ends there.
};

/// Writes all, however many calls it takes. It changes `parts`.
Transfer write_all(FileCalls& calls, int descriptor, std::span<iovec> parts, std::uint64_t offset) noexcept;
/// Reads all up to the end of the file, however many calls it takes.
Transfer read_all(FileCalls& calls, int descriptor, std::span<std::byte> target, std::uint64_t offset) noexcept;
/// Makes the file, or its data alone, durable. An errno, or 0.
int make_durable(FileCalls& calls, int descriptor, bool data_only) noexcept;

}  // namespace dovetail::staging
