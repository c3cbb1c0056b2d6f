// Switching between stacks of execution (Boost.Context), with what sanitizers and C++ exceptions need to follow.
#pragma once

#include <boost/context/detail/fcontext.hpp>

#include "base/sanitizer.hpp"
#include "fiber/stack_pool.hpp"

namespace dovetail::fiber {

/// A stack of execution that can be left and come back to. Not thread-safe: the thread that switches to it owns it.
class Fiber {
 public:
  using Entry = void (*)(void* argument);

  /// Stands for the stack that the calling thread already runs on.
  Fiber();
  /// Runs `entry(argument)` on `stack` when first switched to. The entry must never return; it must switch away for good.
  Fiber(Stack stack, Entry entry, void* argument);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Leaves this fiber, which must be the running one, for `target`. There, before anything else, `arrival(argument)` runs:
  /// only from then on may another thread switch back to this fiber. Returns when one does, perhaps on another thread.
  void switch_to(Fiber& target, void (*arrival)(void*), void* argument);

  const Stack& stack() const noexcept { return stack_; }

  /// For keeping fibers in lists.
  Fiber* next = nullptr;

 private:
  struct Transfer;
  static void start(boost::context::detail::transfer_t transfer);
  static void arrive(boost::context::detail::transfer_t transfer);

  boost::context::detail::fcontext_t context_ = nullptr;
  Stack stack_;
  Entry entry_ = nullptr;
  void* argument_ = nullptr;
#if DOVETAIL_THREAD_SANITIZER
  void* thread_sanitizer_ = nullptr;
#endif
#if DOVETAIL_ADDRESS_SANITIZER
  void* fake_stack_ = nullptr;
  const void* known_bottom_ = nullptr;
  std::size_t known_size_ = 0;
#endif
};

}  // namespace dovetail::fiber
