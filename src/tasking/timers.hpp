// Things to do at a time. Workers look between slices; a sleeping worker is woken for the earliest one.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <queue>
#include <vector>

#include "base/clock.hpp"
#include "dovetail/detail/body.hpp"

namespace dovetail::tasking {

using detail::Task;

class Timers {
 public:
  /// Wakes a paused task at `deadline`. Returns whether this is now the earliest deadline.
  bool wake_at(base::TimePoint deadline, Task* task);
  /// Calls `action` on a worker, outside of any task, at `deadline`.
  bool call_at(base::TimePoint deadline, std::function<void()> action);

  /// Does what is due. Returns how many things that were.
  unsigned run_due();
  /// time_point::max() when there is none.
  base::TimePoint earliest() const noexcept {
    return base::TimePoint(base::Clock::duration(earliest_.load(std::memory_order_relaxed)));
  }

  /// @name Keeping time
  /// One sleeping worker wakes up for the timers; the others sleep on.
  /// @{
  /// The earliest deadline if nobody keeps it yet, else time_point::max().
  base::TimePoint keep() noexcept {
    const base::Clock::rep deadline = earliest_.load(std::memory_order_seq_cst);
    base::Clock::rep kept = kept_.load(std::memory_order_relaxed);
    while (deadline < kept) {
      if (kept_.compare_exchange_weak(kept, deadline, std::memory_order_seq_cst)) {
        return base::TimePoint(base::Clock::duration(deadline));
      }
    }
    return base::TimePoint::max();
  }
  /// The worker that keeps `deadline` is awake again.
  void stop_keeping(base::TimePoint deadline) noexcept {
    base::Clock::rep expected = deadline.time_since_epoch().count();
    kept_.compare_exchange_strong(expected, none, std::memory_order_seq_cst);
  }
  /// @}
  bool empty() const noexcept { return earliest() == base::TimePoint::max(); }

 private:
  struct Entry {
    base::TimePoint deadline;
    std::uint64_t sequence;
    Task* task;
    std::shared_ptr<std::function<void()>> action;
    bool operator<(const Entry& other) const noexcept {
      return deadline != other.deadline ? deadline > other.deadline : sequence > other.sequence;
    }
  };
  bool add(Entry entry);

  std::mutex mutex_;
  std::priority_queue<Entry> heap_;
  std::uint64_t sequence_ = 0;
  static constexpr base::Clock::rep none = base::TimePoint::max().time_since_epoch().count();
  std::atomic<base::Clock::rep> earliest_{none};
  std::atomic<base::Clock::rep> kept_{none};
};

}  // namespace dovetail::tasking
