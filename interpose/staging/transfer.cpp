#include "transfer.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <vector>

#include "libc.hpp"
#include "within.hpp"

namespace dovetail::interpose::staged {
namespace {

// As many as the system moves with one call.
constexpr std::size_t most_bytes = 0x7ffff000;
constexpr int known_flags = RWF_HIPRI | RWF_DSYNC | RWF_SYNC | RWF_NOWAIT | RWF_APPEND;

// 0: there is nothing to move, or the system refuses it.
std::size_t bytes_of(std::span<const iovec> parts) noexcept {
  std::size_t bytes = 0;
  for (const iovec& part : parts) {
    if (part.iov_len > SSIZE_MAX - bytes) {
      return 0;
    }
    bytes += part.iov_len;
  }
  return std::min(bytes, most_bytes);
}

// The system refuses other addresses, which would end the program here. Pages that are there and may not be used are not told apart.
bool is_mapped(const iovec& part) noexcept {
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  std::array<unsigned char, 256> resident{};
  const auto first = reinterpret_cast<std::uintptr_t>(part.iov_base);
  const std::uintptr_t end = first + part.iov_len;
  bool result = end >= first;
  for (std::uintptr_t at = first / page * page; result && at < end; at += resident.size() * page) {
    const std::size_t bytes = std::min(end - at, resident.size() * page);
    result = ::mincore(reinterpret_cast<void*>(at), bytes, resident.data()) == 0;
  }
  return result;
}

}  // namespace

Transfer::Transfer(int descriptor, off64_t offset, int flags) noexcept
    : descriptor_(descriptor), offset_(offset), flags_(flags), description_(description_of(descriptor)) {}

// What they ask for is the system's to do.
bool Transfer::has_known_flags() noexcept {
  const bool are_known = (flags_ & ~known_flags) == 0;
  if (!are_known) {
    description_->file->give_up("a call has flags that are not known here");
  }
  return are_known;
}

bool Transfer::read(std::span<const iovec> parts, ssize_t& result) noexcept {
  const bool may_read = (description_->flags & O_ACCMODE) != O_WRONLY;
  if (bytes_of(parts) == 0 || !may_read || !has_known_flags()) {
    return false;
  }
  use_ = description_->file->use();
  if (!use_.is_staged()) {
    return false;
  }
  std::optional<base::LockGuard<base::Mutex>> position;
  const bool moves = offset_ == here;
  if (moves) {
    position.emplace(description_->position);
    offset_ = libc::lseek64(descriptor_, 0, SEEK_CUR);
  }
  result = offset_ < 0 ? -errno : read_parts(parts);
  if (moves && result > 0) {
    libc::lseek64(descriptor_, offset_ + result, SEEK_SET);
  }
  result = result < 0 ? fail(static_cast<int>(-result)) : result;
  return true;
}

ssize_t Transfer::read_parts(std::span<const iovec> parts) noexcept {
  ssize_t done = 0;
  std::size_t left = bytes_of(parts);
  for (const iovec& part : parts) {
    const std::size_t bytes = std::min(part.iov_len, left);
    // A program may say that it has more memory than it has, if the file ends before.
    if (bytes != 0 && static_cast<std::uint64_t>(offset_ + done) < use_.size() && !is_mapped({part.iov_base, 1})) {
      return done != 0 ? done : -EFAULT;
    }
    const ssize_t got =
        use_.read(static_cast<std::uint64_t>(offset_ + done), {static_cast<std::byte*>(part.iov_base), bytes});
    if (got < 0) {
      return done != 0 ? done : got;
    }
    done += got;
    left -= static_cast<std::size_t>(got);
    if (static_cast<std::size_t>(got) < bytes) {
      break;
    }
  }
  return done;
}

bool Transfer::write(std::span<const iovec> parts, ssize_t& result) noexcept {
  const bool may_write = (description_->flags & O_ACCMODE) != O_RDONLY;
  if (bytes_of(parts) == 0 || !may_write || !has_known_flags()) {
    return false;
  }
  const off64_t begin = offset_ != here ? offset_ : libc::lseek64(descriptor_, 0, SEEK_CUR);
  use_ = description_->file->use_to_write(descriptor_,
                                          static_cast<std::uint64_t>(std::max<off64_t>(begin, 0)) + bytes_of(parts));
  if (!use_.is_staged()) {
    return false;
  }
  result = write_parts(parts);
  result = result < 0 ? fail(static_cast<int>(-result)) : result;
  return true;
}

ssize_t Transfer::write_parts(std::span<const iovec> parts) noexcept {
  if (!std::ranges::all_of(parts, is_mapped)) {
    return -EFAULT;
  }
  const bool appends = (description_->flags & O_APPEND) != 0 || (flags_ & RWF_APPEND) != 0;
  std::optional<base::LockGuard<base::Mutex>> position;
  const bool moves = offset_ == here;
  if (moves) {
    position.emplace(description_->position);
    offset_ = libc::lseek64(descriptor_, 0, SEEK_CUR);
    if (offset_ < 0) {
      return -errno;
    }
  }
  ssize_t result = 0;
  const std::size_t bytes = bytes_of(parts);
  if (parts.size() == 1) {
    result = put({static_cast<const std::byte*>(parts[0].iov_base), bytes}, appends);
  } else {
    // One write, so that no other one comes between its parts.
    try {
      std::vector<std::byte> together(bytes);
      std::size_t at = 0;
      for (const iovec& part : parts) {
        const std::size_t length = std::min(part.iov_len, bytes - at);
        std::copy_n(static_cast<const std::byte*>(part.iov_base), length, together.data() + at);
        at += length;
      }
      result = put(together, appends);
    } catch (const std::bad_alloc&) {
      result = -ENOMEM;
    }
  }
  if (moves && result > 0) {
    libc::lseek64(descriptor_, offset_ + result, SEEK_SET);
  }
  const bool durable = (description_->flags & O_DSYNC) != 0 || (flags_ & (RWF_DSYNC | RWF_SYNC)) != 0;
  if (result > 0 && durable) {
    const int error = use_.sync();
    return error != 0 ? -error : result;
  }
  return result;
}

// Where it appends, the offset becomes that of the end.
ssize_t Transfer::put(std::span<const std::byte> data, bool appends) noexcept {
  if (!appends) {
    return use_.write(static_cast<std::uint64_t>(offset_), data);
  }
  std::uint64_t end = 0;
  const ssize_t result = use_.append(data, end);
  offset_ = static_cast<off64_t>(end);
  return result;
}

}  // namespace dovetail::interpose::staged
