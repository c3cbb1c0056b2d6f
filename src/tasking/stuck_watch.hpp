// Since when nothing runs in a runtime, and whether it has been called stuck. See docs/design/stuck.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/clock.hpp"
#include "base/mutex.hpp"

namespace dovetail::tasking {

/// Any thread.
class StuckWatch {
 public:
  /// Something runs again.
  void activity() noexcept {
    if (nothing_runs_since_.load(std::memory_order_relaxed) != 0) {
      nothing_runs_since_.store(0, std::memory_order_relaxed);
    }
    if (quiet_since_.load(std::memory_order_relaxed) != 0) {
      note_not_quiet();
    }
  }
  /// Though something may be under way. Returns since when that is so.
  base::TimePoint note_nothing_runs(base::TimePoint now) noexcept { return begin_or_go_on(nothing_runs_since_, now); }
  /// Nothing runs, and nothing is under way. Returns since when that is so.
  base::TimePoint note_quiet(base::TimePoint now) noexcept { return begin_or_go_on(quiet_since_, now); }
  void note_not_quiet() noexcept { quiet_since_.store(0, std::memory_order_relaxed); }

  /// Counts reports that the runtime is stuck. A waiter that sees it change while it waits throws `Stuck` with the report.
  std::uint64_t reports() const noexcept { return reports_.load(std::memory_order_acquire); }
  void count_report() noexcept { reports_.fetch_add(1, std::memory_order_acq_rel); }
  std::string report() const;
  void set_report(std::string text);

 private:
  static base::TimePoint begin_or_go_on(std::atomic<base::Clock::rep>& since, base::TimePoint now) noexcept;

  std::atomic<base::Clock::rep> nothing_runs_since_{0};  ///< 0: something runs.
  std::atomic<base::Clock::rep> quiet_since_{0};
  std::atomic<std::uint64_t> reports_{0};
  mutable base::Mutex mutex_;
  std::string text_ GUARDED_BY(mutex_);
};

}  // namespace dovetail::tasking
