#include "tasking/timers.hpp"

#include "base/mutex.hpp"

namespace dovetail::tasking {

void Timers::note_earliest() noexcept {
  const base::TimePoint next = entries_.empty() ? base::TimePoint::max() : entries_.begin()->first.first;
  earliest_.store(next.time_since_epoch().count(), std::memory_order_relaxed);
}

Timers::Added Timers::call_at(base::TimePoint deadline, std::function<void()> action) {
  const base::LockGuard lock(mutex_);
  const Id id(deadline, sequence_++);
  entries_.emplace(id, std::move(action));
  const bool first = deadline < earliest();
  if (first) {
    note_earliest();
  }
  return {id, first};
}

bool Timers::cancel(const Id& id) noexcept {
  const base::LockGuard lock(mutex_);
  if (entries_.erase(id) == 0) {
    return false;
  }
  note_earliest();
  return true;
}

unsigned Timers::run_due() {
  if (empty() || base::Clock::now() < earliest()) {
    return 0;
  }
  for (unsigned done = 0;; ++done) {
    base::UniqueLock lock(mutex_);
    if (entries_.empty() || entries_.begin()->first.first > base::Clock::now()) {
      note_earliest();
      return done;
    }
    auto due = entries_.extract(entries_.begin());
    lock.unlock();
    due.mapped()();
  }
}

}  // namespace dovetail::tasking
