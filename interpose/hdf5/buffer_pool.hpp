// Memory for copies of what is still to be written and for what is read ahead. Buffers are used again, so that the kernel maps
// their pages once and not for every write.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace dovetail::hdf5 {

struct Buffer {
  std::byte* data = nullptr;
  std::size_t capacity = 0;
};

/// Not thread-safe: the caller locks.
class BufferPool {
 public:
  /// `limit` bytes may be out at a time; what is kept for use again is not counted on top of it for long.
  explicit BufferPool(std::size_t limit) noexcept : limit_(limit) {}
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;
  ~BufferPool() = default;  // The one there is lives as long as the process.

  static constexpr std::size_t smallest = std::size_t{8} << 10;
  static constexpr std::size_t largest = std::size_t{2} << 20;
  static constexpr std::size_t few = 8 * largest;

  /// A buffer of at least `bytes`, or of `largest`; none (data is null) while the budget or the memory of the machine is used up, or
  /// while `modest` ones would need memory that the kernel has yet to map, beyond the first few.
  Buffer take(std::size_t bytes, bool modest = false) noexcept;
  void give_back(Buffer buffer) noexcept;
  /// The same for what is read ahead, which may be kept for as long as the program likes: at most half of the limit in all, so
  /// that writes never wait for it.
  Buffer take_ahead(std::size_t bytes) noexcept;
  void give_back_ahead(Buffer buffer) noexcept;
  /// Counts memory that is allocated elsewhere and may be kept as long, out of the same half.
  bool reserve(std::size_t bytes) noexcept;
  bool can_reserve(std::size_t bytes) const noexcept { return spare(bytes); }
  std::size_t most_reserved() const noexcept { return limit_ / 2; }
  void release(std::size_t bytes) noexcept { reserved_ -= bytes; }
  /// Nothing that was taken before will come back: it belongs to another process.
  void forget_taken() noexcept { taken_ = ahead_ = reserved_ = 0; }

  /// How many of so many bytes had better be taken for, so that little of the buffer is left over.
  static std::size_t piece_of(std::size_t bytes) noexcept;
  /// Goes up with every buffer that is taken or given back.
  unsigned long activity() const noexcept { return activity_; }
  std::size_t kept() const noexcept { return kept_bytes_; }
  /// Gives some of what is kept back to the system.
  void release_some() noexcept { shrink_to(kept_bytes_ - std::min(kept_bytes_, few)); }

  /// What will come back when all writes have ended.
  std::size_t taken() const noexcept { return taken_; }
  std::size_t limit() const noexcept { return limit_; }

 private:
  static constexpr std::array<std::size_t, 9> sizes{smallest,      smallest << 1, smallest << 2,
                                                    smallest << 3, smallest << 4, smallest << 5,
                                                    smallest << 6, smallest << 7, largest};
  static std::size_t kind_for(std::size_t bytes) noexcept;
  bool spare(std::size_t bytes) const noexcept;
  std::byte* obtain(std::size_t kind, bool modest) noexcept;
  void keep(Buffer buffer) noexcept;
  void shrink_to(std::size_t bytes) noexcept;

  std::array<std::vector<std::byte*>, sizes.size()> kept_;
  std::size_t kept_bytes_ = 0;
  std::size_t taken_ = 0;  // for writes
  std::size_t ahead_ = 0;
  std::size_t reserved_ = 0;
  unsigned long activity_ = 0;
  std::size_t limit_;
};

}  // namespace dovetail::hdf5
