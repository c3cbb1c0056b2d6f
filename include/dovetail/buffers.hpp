/// @file
/// Memory that the kernel knows before a transfer begins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace dovetail {

/// Zeroed memory that begins at a page, and that rings of io_uring keep registered. For a transfer that lies in it, the kernel need not
/// look up and pin its pages again. Any `pread` or `pwrite` of any `File`, in both forms, uses that when its bytes lie within one
/// `IoBuffer`. Everywhere else it is plain memory, suited to direct transfers. From 2 MiB on it is in huge pages where the system has them.
/// A device then takes long direct transfers in fewer pieces, so make one large buffer for many transfers rather than many small ones.
///
/// Movable, not copyable. Making one and dropping it take locks and system calls: keep and reuse them. No transfer may be in
/// flight when it is dropped. Thread-safe as any memory is. Nothing here suspends.
class IoBuffer {
 public:
  IoBuffer() noexcept = default;
  /// Allocates `bytes`, at least one. @throws std::bad_alloc.
  explicit IoBuffer(std::size_t bytes);
  IoBuffer(IoBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  IoBuffer& operator=(IoBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~IoBuffer();

  std::byte* data() const noexcept { return data_; }                     ///< The first byte, at a page; null if empty.
  std::size_t size() const noexcept { return size_; }                    ///< Bytes, as asked for.
  std::byte* begin() const noexcept { return data_; }                    ///< As `data`.
  std::byte* end() const noexcept { return data_ + size_; }              ///< One past the last byte.
  std::span<std::byte> span() const noexcept { return {data_, size_}; }  ///< All of it.

  /// What the rings said that have used it. A ring is told when it first uses it.
  enum class Registration : std::uint8_t {
    none,      ///< No ring has used it yet.
    accepted,  ///< Registered with all rings that have used it.
    refused,  ///< Some ring could not have it: an old kernel (before 5.19), `RLIMIT_MEMLOCK`, or too many of them. There it is plain memory.
  };
  /// Does not suspend.
  Registration registration() const noexcept;
  /// If a ring refused it, the errno of the last one that did: ENOMEM beyond `RLIMIT_MEMLOCK`, ENOSPC if there were too many buffers. Else
  /// 0.
  int registration_error() const noexcept;

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace dovetail
