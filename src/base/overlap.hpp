// How long work of the background is under way, and for how much of that a thread of the program waits.
#pragma once

#include <cstdint>

#include "base/clock.hpp"
#include "base/process_mutex.hpp"

namespace dovetail::base {

/// Thread-safe. The rest of the time under way is *hidden*, as <dovetail/trace.hpp> defines it.
class Overlap {
 public:
  /// In nanoseconds.
  struct Times {
    std::uint64_t under_way = 0;
    std::uint64_t waited = 0;  ///< Of that: some thread of the program waited.
  };

  /// As long as it lives, work is under way.
  class Work {
   public:
    explicit Work(Overlap& overlap) noexcept : overlap_(overlap) { overlap_.change(1, 0); }
    ~Work() { overlap_.change(-1, 0); }
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

   private:
    Overlap& overlap_;
  };
  /// As long as it lives, a thread of the program waits.
  class Wait {
   public:
    explicit Wait(Overlap& overlap) noexcept : overlap_(overlap) { overlap_.change(0, 1); }
    ~Wait() { overlap_.change(0, -1); }
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

   private:
    Overlap& overlap_;
  };

  Times times() noexcept {
    const LockGuard lock(mutex_);
    advance();
    return times_;
  }
  /// Begins anew. In the child of a fork, the threads that worked or waited do not exist: `threads_gone`.
  void reset(bool threads_gone = false) noexcept {
    const LockGuard lock(mutex_);
    advance();
    times_ = {};
    if (threads_gone) {
      working_ = waiting_ = 0;
    }
  }

 private:
  void change(int working, int waiting) noexcept {
    const LockGuard lock(mutex_);
    advance();
    working_ += working;
    waiting_ += waiting;
  }
  void advance() noexcept REQUIRES(mutex_) {
    const std::uint64_t now = nanoseconds();
    if (working_ > 0) {
      times_.under_way += now - last_;
      times_.waited += waiting_ > 0 ? now - last_ : 0;
    }
    last_ = now;
  }

  ProcessMutex mutex_;
  Times times_ GUARDED_BY(mutex_);
  int working_ GUARDED_BY(mutex_) = 0;
  int waiting_ GUARDED_BY(mutex_) = 0;
  std::uint64_t last_ GUARDED_BY(mutex_) = 0;
};

}  // namespace dovetail::base
