// Things to do at a time, earliest first. The reactor keeps the time; workers that look for work do what is due on their way.
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
  /// Calls `action` outside of any task at `deadline`.
  bool call_at(base::TimePoint deadline, std::function<void()> action);

  /// Does what is due. Returns how many things that were. Any thread of the runtime.
  unsigned run_due();
  /// time_point::max() when there is none.
  base::TimePoint earliest() const noexcept {
    return base::TimePoint(base::Clock::duration(earliest_.load(std::memory_order_relaxed)));
  }
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
  std::atomic<base::Clock::rep> earliest_{base::TimePoint::max().time_since_epoch().count()};
};

}  // namespace dovetail::tasking
