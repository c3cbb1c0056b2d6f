#include "tasking/timers.hpp"

#include <utility>

#include "tasking/pause.hpp"

namespace dovetail::tasking {

bool Timers::wake_at(base::TimePoint deadline, Task* task) { return add({deadline, 0, task, nullptr}); }

bool Timers::call_at(base::TimePoint deadline, std::function<void()> action) {
  return add({deadline, 0, nullptr, std::make_shared<std::function<void()>>(std::move(action))});
}

bool Timers::add(Entry entry) {
  std::lock_guard lock(mutex_);
  entry.sequence = sequence_++;
  const base::TimePoint deadline = entry.deadline;
  heap_.push(std::move(entry));
  if (heap_.top().deadline < earliest()) {
    earliest_.store(deadline.time_since_epoch().count(), std::memory_order_relaxed);
    return true;
  }
  return false;
}

unsigned Timers::run_due() {
  if (empty() || base::Clock::now() < earliest()) {
    return 0;
  }
  unsigned done = 0;
  for (;;) {
    Entry entry;
    {
      std::lock_guard lock(mutex_);
      if (heap_.empty() || heap_.top().deadline > base::Clock::now()) {
        const base::TimePoint next = heap_.empty() ? base::TimePoint::max() : heap_.top().deadline;
        earliest_.store(next.time_since_epoch().count(), std::memory_order_relaxed);
        return done;
      }
      entry = heap_.top();
      heap_.pop();
    }
    ++done;
    if (entry.task != nullptr) {
      wake(entry.task);
    } else {
      (*entry.action)();
    }
  }
}

}  // namespace dovetail::tasking
