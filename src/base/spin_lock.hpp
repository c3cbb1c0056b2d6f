// A lock for sections of a few instructions that never block and never switch fibers.
#pragma once

#include <atomic>
#include <thread>

#include "base/thread_safety.hpp"

namespace dovetail::base {

inline void cpu_relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

class CAPABILITY("spin lock") SpinLock {
 public:
  void lock() noexcept ACQUIRE() {
    for (unsigned attempt = 0; locked_.exchange(true, std::memory_order_acquire); ++attempt) {
      // The holder may have been preempted: on a crowded machine, spinning on would keep it from running.
      while (locked_.load(std::memory_order_relaxed)) {
        if (++attempt % 128 == 0) {
          std::this_thread::yield();
        }
        cpu_relax();
      }
    }
  }
  bool try_lock() noexcept TRY_ACQUIRE(true) {
    return !locked_.load(std::memory_order_relaxed) && !locked_.exchange(true, std::memory_order_acquire);
  }
  void unlock() noexcept RELEASE() { locked_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> locked_{false};
};

}  // namespace dovetail::base
