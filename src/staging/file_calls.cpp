#include "staging/file_calls.hpp"

#include <fcntl.h>
#include <sys/types.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <ctime>

#include "base/clock.hpp"
#include "storage/uninterposed.hpp"

namespace dovetail::staging {
namespace {

std::int64_t result_of(std::int64_t result) noexcept { return result < 0 ? -errno : result; }
int result_of(int result) noexcept { return result < 0 ? -errno : result; }

// Leaves out what has been written.
std::span<iovec> behind(std::span<iovec> parts, std::size_t bytes) noexcept {
  while (!parts.empty() && bytes >= parts.front().iov_len) {
    bytes -= parts.front().iov_len;
    parts = parts.subspan(1);
  }
  if (!parts.empty()) {
    parts.front().iov_base = static_cast<std::byte*>(parts.front().iov_base) + bytes;
    parts.front().iov_len -= bytes;
  }
  return parts;
}

}  // namespace

int FileCalls::open(int folder, const char* name, int flags) noexcept {
  const storage::Uninterposed own;
  return result_of(::openat(folder, name, flags | O_CLOEXEC | O_NOFOLLOW, 0600));
}

std::int64_t FileCalls::write(int descriptor, std::span<const iovec> parts, std::uint64_t offset) noexcept {
  const storage::Uninterposed own;
  const int count = static_cast<int>(std::min<std::size_t>(parts.size(), IOV_MAX));
  return result_of(std::int64_t{::pwritev(descriptor, parts.data(), count, static_cast<off_t>(offset))});
}

std::int64_t FileCalls::read(int descriptor, std::span<std::byte> target, std::uint64_t offset) noexcept {
  const storage::Uninterposed own;
  return result_of(std::int64_t{::pread(descriptor, target.data(), target.size(), static_cast<off_t>(offset))});
}

int FileCalls::sync(int descriptor, bool data_only) noexcept {
  const storage::Uninterposed own;
  return result_of(data_only ? ::fdatasync(descriptor) : ::fsync(descriptor));
}

int FileCalls::resize(int descriptor, std::uint64_t bytes) noexcept {
  const storage::Uninterposed own;
  return result_of(::ftruncate(descriptor, static_cast<off_t>(bytes)));
}

int FileCalls::remove(int folder, const char* name) noexcept {
  const storage::Uninterposed own;
  return result_of(::unlinkat(folder, name, 0));
}

void FileCalls::begin_writeback(int descriptor, std::uint64_t offset, std::size_t bytes) noexcept {
  // Errors come back from the next sync.
  static_cast<void>(
      ::sync_file_range(descriptor, static_cast<off_t>(offset), static_cast<off_t>(bytes), SYNC_FILE_RANGE_WRITE));
}

int FileCalls::wait_for_writeback(int descriptor, std::uint64_t offset, std::size_t bytes) noexcept {
  const int result = result_of(::sync_file_range(descriptor, static_cast<off_t>(offset), static_cast<off_t>(bytes),
                                                 SYNC_FILE_RANGE_WAIT_BEFORE));
  const bool is_told = result == -EINTR || result == -EIO || result == -ENOSPC || result == -EDQUOT;
  return is_told ? result : 0;
}

std::uint64_t FileCalls::now() noexcept { return base::nanoseconds(); }

void FileCalls::wait_until(std::uint64_t time) noexcept {
  constexpr std::uint64_t second = 1'000'000'000;
  const timespec until{.tv_sec = static_cast<time_t>(time / second), .tv_nsec = static_cast<long>(time % second)};
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

int FileCalls::set_attribute(int descriptor, const char* name, std::string_view value) noexcept {
  return result_of(::fsetxattr(descriptor, name, value.data(), value.size(), 0));
}

std::int64_t FileCalls::get_attribute(int descriptor, const char* name, std::span<char> value) noexcept {
  return result_of(std::int64_t{::fgetxattr(descriptor, name, value.data(), value.size())});
}

std::int64_t FileCalls::list_attributes(int descriptor, std::span<char> names) noexcept {
  return result_of(std::int64_t{::flistxattr(descriptor, names.data(), names.size())});
}

int FileCalls::remove_attribute(int descriptor, const char* name) noexcept {
  return result_of(::fremovexattr(descriptor, name));
}

FileCalls& FileCalls::system() noexcept {
  // Never destroyed: files may be used until the very end of the process.
  static FileCalls& calls = *new FileCalls;
  return calls;
}

Transfer write_all(FileCalls& calls, int descriptor, std::span<iovec> parts, std::uint64_t offset) noexcept {
  Transfer done;
  for (parts = behind(parts, 0); !parts.empty();) {
    const std::int64_t written = calls.write(descriptor, parts, offset + done.bytes);
    if (written == -EINTR) {
      continue;
    }
    if (written <= 0) {
      // A file that takes nothing and does not say why would be asked for ever.
      done.error = written == 0 ? EIO : static_cast<int>(-written);
      return done;
    }
    done.bytes += static_cast<std::size_t>(written);
    parts = behind(parts, static_cast<std::size_t>(written));
  }
  return done;
}

Transfer read_all(FileCalls& calls, int descriptor, std::span<std::byte> target, std::uint64_t offset) noexcept {
  Transfer done;
  while (done.bytes < target.size()) {
    const std::int64_t got = calls.read(descriptor, target.subspan(done.bytes), offset + done.bytes);
    if (got == -EINTR) {
      continue;
    }
    if (got <= 0) {
      done.error = static_cast<int>(-got);
      return done;
    }
    done.bytes += static_cast<std::size_t>(got);
  }
  return done;
}

int make_durable(FileCalls& calls, int descriptor, bool data_only) noexcept {
  return -uninterrupted([&] { return calls.sync(descriptor, data_only); });
}

}  // namespace dovetail::staging
