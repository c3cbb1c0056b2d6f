// Stacks for fibers. Below each lies a guard so large that an ordinary frame does not step over it. So an overflow is a fault at a
// known place and not a corruption. A stack takes address space at once and memory only where it is touched.
#pragma once

#include <cstddef>
#include <vector>

#include "base/mutex.hpp"

namespace dovetail::fiber {

/// Usable memory of a stack. It grows down from `bottom() `.
struct Stack {
  std::byte* lowest = nullptr;  ///< First usable byte, right above the guard.
  std::size_t size = 0;         ///< Usable bytes.
  std::byte* bottom() const noexcept { return lowest + size; }
};

/// Makes stacks in slabs and keeps the ones that are given back. Thread-safe.
class StackPool {
 public:
  /// Whether the kernel may be asked for guards that need no mapping. False: as on kernels before Linux 6.13, for tests.
  static inline bool guards_without_mapping = true;
  /// Stacks that have a guard on such a kernel.
  static constexpr std::size_t most_mapped_guards = 16384;

  /// `size` is rounded up to pages.
  explicit StackPool(std::size_t size);
  ~StackPool();
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;

  /// @throws std::system_error naming the limit to raise when the system gives no more mappings.
  Stack acquire();
  /// Takes a stack back; its memory goes to the system.
  void release(Stack stack) noexcept;

  /// Least usable bytes of a stack.
  std::size_t stack_size() const noexcept { return size_; }
  /// Stacks that have been made so far.
  std::size_t made() const;

  /// Bytes below `Stack::lowest` that no frame may touch: as many as Linux keeps free below the stack of a thread that grows. A frame
  /// with larger arrays than this has to be on the heap.
  static constexpr std::size_t guard_bytes = 1024UL * 1024 - 4096;
  /// Whether `address` lies in the guard of that stack. For a signal handler: it reads nothing else.
  static bool in_guard(const Stack& stack, const void* address) noexcept { return is_below(stack.lowest, address); }
  /// The same of any stack, whose lowest byte this is; null: of none.
  static bool is_below(const std::byte* lowest, const void* address) noexcept {
    const auto* byte = static_cast<const std::byte*>(address);
    return byte < lowest && byte >= lowest - guard_bytes;
  }

 private:
  void make_slab() REQUIRES(mutex_);

  const std::size_t page_;
  const std::size_t size_;
  const std::size_t stride_;
  const std::size_t slab_bytes_;
  mutable base::Mutex mutex_;
  std::vector<Stack> free_ GUARDED_BY(mutex_);
  std::vector<std::byte*> slabs_ GUARDED_BY(mutex_);
  std::size_t made_ GUARDED_BY(mutex_) = 0;
  std::size_t mapped_guards_ GUARDED_BY(mutex_) = 0;  ///< Guards that take mappings of their own.
};

}  // namespace dovetail::fiber
