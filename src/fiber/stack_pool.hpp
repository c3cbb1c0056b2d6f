// Stacks for fibers. Each has a guard page below it, so that an overflow is a fault at a known place and not a corruption.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

namespace dovetail::fiber {

/// Usable memory of a stack. It grows down from `bottom() `.
struct Stack {
  std::byte* lowest = nullptr;  ///< First usable byte, right above the guard page.
  std::size_t size = 0;         ///< Usable bytes.
  std::byte* bottom() const noexcept { return lowest + size; }
};

/// Makes stacks in slabs and keeps the ones that are given back. Thread-safe.
class StackPool {
 public:
  /// `size` is rounded up to pages.
  explicit StackPool(std::size_t size);
  ~StackPool();
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;

  /// @throws std::system_error naming the limit to raise when the system gives no more mappings.
  Stack acquire();
  /// The memory beyond the first pages is given back to the system when many stacks lie idle.
  void release(Stack stack) noexcept;

  /// Least usable bytes of a stack.
  std::size_t stack_size() const noexcept { return size_; }
  /// Stacks that have been made so far.
  std::size_t made() const;
  /// Whether `address` lies in a guard page of this pool.
  bool in_guard(const void* address) const;

 private:
  void make_slab();

  const std::size_t page_;
  const std::size_t size_;
  mutable std::mutex mutex_;
  std::vector<Stack> free_;
  std::vector<std::byte*> slabs_;
  std::size_t stride_ = 0;
  std::size_t slab_bytes_ = 0;
  std::size_t made_ = 0;
};

}  // namespace dovetail::fiber
