// Notices a runtime in which nothing can ever run again, and says why. See docs/design/stuck.md.
#pragma once

#include <atomic>
#include <chrono>
#include <string>

#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "dovetail/detail/body.hpp"

namespace dovetail::tasking {

using detail::RuntimeCore;

class StuckWatch {
 public:
  /// For a worker that is about to sleep: if nothing runs, the reactor is to `look` when that has been so for a while.
  void before_sleep(RuntimeCore& core) noexcept;
  /// For the reactor, which wakes tasks whose time has come: while it is here, none of them is on its way. Says what waits for what, or
  /// that the runtime is stuck, if it is time for that. Returns when to look again.
  base::TimePoint look(RuntimeCore& core);
  /// Something runs again.
  void activity() noexcept {
    if (nothing_runs_since_.load(std::memory_order_relaxed) != 0) {
      nothing_runs_since_.store(0, std::memory_order_relaxed);
      reports_of_this_wait_.store(0, std::memory_order_relaxed);
    }
    if (quiet_since_.load(std::memory_order_relaxed) != 0) {
      quiet_since_.store(0, std::memory_order_relaxed);
    }
  }
  /// Counts reports. A waiter that sees it change while it waits throws `Stuck` with the report.
  std::uint64_t reports() const noexcept { return reports_.load(std::memory_order_acquire); }
  std::string report() const;

 private:
  base::TimePoint report_long_wait(RuntimeCore& core, base::TimePoint now);
  base::TimePoint declare_if_stuck(RuntimeCore& core, base::TimePoint now);
  void declare(RuntimeCore& core, std::string text);

  std::atomic<base::Clock::rep> nothing_runs_since_{0};  ///< Though something may be under way. 0: something runs.
  std::atomic<unsigned> reports_of_this_wait_{0};
  std::atomic<base::Clock::rep> quiet_since_{0};  ///< Nothing runs, and nothing is under way.
  std::atomic<std::uint64_t> reports_{0};
  mutable base::Mutex mutex_;
  std::string text_ GUARDED_BY(mutex_);
};

/// Whether nothing runs, nothing is queued and nothing is in flight, as far as an idle thread of it can see.
bool nothing_can_run(const RuntimeCore& core) noexcept;

}  // namespace dovetail::tasking
