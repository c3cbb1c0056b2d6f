// Memory for copies of what is still to be written. Buffers are used again, so that the kernel maps their pages once and not for every
// write.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "base/memory_budget.hpp"

namespace dovetail::staging {

struct Buffer {
  std::byte* data = nullptr;
  std::size_t capacity = 0;
};

/// Not thread-safe: the caller locks.
class BufferPool {
 public:
  /// Buffers that are taken count against the budget. Those kept for use again are not counted on top of it for long.
  explicit BufferPool(base::MemoryBudget& budget) noexcept : budget_(budget) {}
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;
  ~BufferPool() { shrink_to(0); }

  static constexpr std::size_t smallest = std::size_t{8} << 10;
  static constexpr std::size_t largest = std::size_t{2} << 20;
  static constexpr std::size_t few = 8 * largest;

  /// A buffer of at least `bytes`, or of `largest`. None (data is null) while the budget or the memory of the machine is used up. Nor does
  /// it give `modest` ones, beyond the first few, for which the kernel has yet to map memory.
  Buffer take(std::size_t bytes, bool modest = false) noexcept;
  void give_back(Buffer buffer) noexcept;
  /// Nothing that was taken before will come back: it belongs to another process.
  void forget_taken() noexcept;

  /// How many of so many bytes had better be taken for, so that little of the buffer is left over.
  static std::size_t piece_of(std::size_t bytes) noexcept;
  /// Goes up with every buffer that is taken or given back.
  unsigned long activity() const noexcept { return activity_; }
  /// Bytes of buffers that are not in use.
  std::size_t kept() const noexcept { return kept_bytes_; }
  /// Gives some of what is kept back to the system.
  void release_some() noexcept { shrink_to(kept_bytes_ - std::min(kept_bytes_, few)); }
  /// Bytes of buffers that are out.
  std::size_t taken() const noexcept { return taken_; }

 private:
  static constexpr std::array<std::size_t, 9> sizes{smallest,      smallest << 1, smallest << 2,
                                                    smallest << 3, smallest << 4, smallest << 5,
                                                    smallest << 6, smallest << 7, largest};
  static std::size_t kind_for(std::size_t bytes) noexcept;
  std::byte* obtain(std::size_t kind, bool modest) noexcept;
  void shrink_to(std::size_t bytes) noexcept;

  std::array<std::vector<std::byte*>, sizes.size()> kept_;
  std::size_t kept_bytes_ = 0;
  std::size_t taken_ = 0;
  unsigned long activity_ = 0;
  base::MemoryBudget& budget_;
};

}  // namespace dovetail::staging
