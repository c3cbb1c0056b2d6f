/// @file
/// Memory that direct I/O accepts: page aligned, a whole number of pages.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>

namespace heat {

/// Alignment in bytes of buffers, file offsets and transfer lengths.
inline constexpr std::size_t page = 4096;

/// The next multiple of a page.
constexpr std::size_t round_to_page(std::size_t bytes) noexcept { return (bytes + page - 1) / page * page; }

/// Owns zeroed, page-aligned memory. Movable, not copyable.
class AlignedBuffer {
 public:
  AlignedBuffer() noexcept = default;
  /// `bytes` is rounded up to pages. @throws std::bad_alloc.
  explicit AlignedBuffer(std::size_t bytes) : size_(round_to_page(bytes)) {
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(page, size_)));
    if (memory_ == nullptr) {
      throw std::bad_alloc();
    }
    std::memset(memory_.get(), 0, size_);
  }

  std::byte* data() noexcept { return memory_.get(); }              ///< First byte.
  const std::byte* data() const noexcept { return memory_.get(); }  ///< First byte.
  std::size_t size() const noexcept { return size_; }               ///< Bytes, a multiple of a page.
  std::span<std::byte> bytes() noexcept { return {data(), size_}; }
  std::span<const std::byte> bytes() const noexcept { return {data(), size_}; }

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t size_ = 0;
};

}  // namespace heat
