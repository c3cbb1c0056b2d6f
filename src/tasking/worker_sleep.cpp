// How a worker sleeps and is woken. See docs/design/stealing.md.
#include <algorithm>

#include "tasking/core.hpp"
#include "tasking/futex.hpp"
#include "tasking/worker.hpp"
#include "trace/trace.hpp"

namespace dovetail::tasking {
namespace {

// While other workers run, work is likely to appear within this many looks; sleeping and being woken costs more.
constexpr unsigned looks_before_sleep = 24;
constexpr unsigned relaxes_between_looks = 16;

constexpr std::chrono::milliseconds until_left_alone_is_doubted{1};

constexpr std::uint32_t awake = 0;
constexpr std::uint32_t parked = 1;
constexpr std::uint32_t notified = 2;

}  // namespace

bool Worker::may_be_work() const noexcept {
  if (!core_.resumed.empty() || !core_.shared.empty() || !core_.urgent.empty() || !core_.deferred.empty() ||
      !tied_.empty() || !returned_.empty() || core_.stopping.load(std::memory_order_acquire)) {
    return true;
  }
  return std::any_of(victims_.begin(), victims_.end(), [this](const Victim& victim) {
    return (victim.worker->deque_.size() > 0 || !victim.worker->returned_.empty()) &&
           !is_better_left_alone(*victim.worker, base::ticks());
  });
}

// A worker with operations sleeps and is woken so often that the process-wide barrier of each sleep would cost more than a fence in
// each push. It says so: who falls asleep needs the barrier only if another worker pushes without a fence.
void Worker::begin_operations(bool begin) noexcept {
  if (operations_ == begin) {
    return;
  }
  operations_ = begin;
  // What was pushed before is visible to whoever sees this; what is pushed from now on is ordered by a fence. And back: the fence
  // comes between this and the next push, whose look for idle workers then sees one that has seen the old value.
  orders_pushes_.store(begin, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

bool Worker::others_order_their_pushes() const noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return std::all_of(victims_.begin(), victims_.end(), [](const Victim& victim) {
    return victim.worker->orders_pushes_.load(std::memory_order_acquire);
  });
}

// The one that parks hands over what it has in `park`: one system call for both.
void Worker::flush_services_that_do_not_park() {
  for (auto& entry : core_.services) {
    if (entry.service.get() != core_.parking) {
      entry.service->flush(index_);
    }
  }
}

void Worker::sleep() {
  if (flush_requested_) {
    flush_services_that_do_not_park();
  }
  // Only while somebody runs, or ran a moment ago, who may spawn: waiting for a disk is no reason to spin.
  if (fed_from_outside_ || core_.idle.count() + core_.idle.searching() < core_.workers.size()) {
    fed_from_outside_ = false;
    if (flush_requested_) {
      flush_services();
    }
    for (unsigned look = 0; look < looks_before_sleep; ++look) {
      if (may_be_work()) {
        return;
      }
      for (unsigned i = 0; i < relaxes_between_looks; ++i) {
        base::cpu_relax();
      }
    }
  }
  searching_ = false;
  core_.idle.end_search();
  // The barrier is for those who are at work. One that is idle too has to take the lock of `enter` before it can bring any, and
  // then sees that this worker is. Interrupting processors costs more than many a slice.
  if (core_.idle.enter(this) < core_.workers.size() && !others_order_their_pushes()) {
    process_wide_barrier();
  }
  if (!may_be_work()) {
    core_.polled.look();
    fibers_.before_sleep();
    core_.stuck.before_sleep(core_);
    core_.throttle.before_sleep(core_);
    // Tasks that are left to others because they will run in a moment: that is a guess.
    const bool guessed = std::any_of(victims_.begin(), victims_.end(), [](const Victim& victim) {
      return victim.worker->deque_.size() > 0 || !victim.worker->returned_.empty();
    });
    trace::idle_begin();
    occupancy_.falls_asleep(base::ticks());
    park(guessed ? base::Clock::now() + until_left_alone_is_doubted : base::TimePoint::max());
    const std::uint64_t now = base::ticks();
    ends_at_once_ = !occupancy_.wakes(now);
    if (occupancy_.window_ends(now)) {
      refuge_ = find_refuge(now);
    }
    trace::idle_end();
  }
  searching_ = !core_.idle.leave(this);
  if (searching_) {
    refuge_ = nullptr;  // somebody has more than it can do
  }
}

void Worker::park(base::TimePoint deadline) {
  if (core_.parking != nullptr) {
    core_.parking->park(index_, deadline);
    return;
  }
  std::uint32_t expected = awake;
  if (park_word_.compare_exchange_strong(expected, parked, std::memory_order_acq_rel)) {
    futex_wait(park_word_, parked, deadline);
  }
  park_word_.store(awake, std::memory_order_release);
}

void Worker::unpark() noexcept {
  if (core_.parking != nullptr) {
    core_.parking->unpark(index_);
  } else if (park_word_.exchange(notified, std::memory_order_acq_rel) == parked) {
    futex_wake(park_word_);
  }
}

}  // namespace dovetail::tasking
