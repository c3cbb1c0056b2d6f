#include "tasking/idle_workers.hpp"

#include <utility>

namespace dovetail::tasking {

void IdleWorkers::add(Sleeper& sleeper) {
  const base::LockGuard lock(mutex_);
  workers_.push_back({&sleeper});
  idle_.reserve(workers_.size());
}

void IdleWorkers::take_out(unsigned worker) {
  const std::size_t place = std::exchange(workers_[worker].place, nowhere);
  const unsigned last = idle_.back();
  idle_.pop_back();
  if (last != worker) {
    idle_[place] = last;
    workers_[last].place = place;
  }
  count_.store(idle_.size(), std::memory_order_seq_cst);
}

void IdleWorkers::enter(unsigned worker) {
  const base::LockGuard lock(mutex_);
  workers_[worker].place = idle_.size();
  idle_.push_back(worker);
  count_.store(idle_.size(), std::memory_order_seq_cst);
}

bool IdleWorkers::leave(unsigned worker) {
  const base::LockGuard lock(mutex_);
  if (workers_[worker].place == nowhere) {
    return false;
  }
  take_out(worker);
  return true;
}

void IdleWorkers::wake_one() noexcept {
  Sleeper* sleeper = nullptr;
  {
    const base::LockGuard lock(mutex_);
    if (idle_.empty()) {
      return;
    }
    sleeper = workers_[idle_.back()].sleeper;
    take_out(idle_.back());
    searching_.fetch_add(1, std::memory_order_seq_cst);
  }
  sleeper->unpark();
}

}  // namespace dovetail::tasking
