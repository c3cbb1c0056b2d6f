#include "tasking/reactor.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/without_signals.hpp"
#include "tasking/context.hpp"

namespace dovetail::tasking {
namespace {

// The thread is not woken for a deadline that is so little earlier than the one it sleeps for. While polling functions run on workers
// that is nearly always so.
constexpr std::chrono::microseconds most_late{200};
// A worker that has just done what was due may name the next deadline in a moment.
constexpr std::chrono::microseconds lingering{100};

constexpr base::Clock::rep never = base::TimePoint::max().time_since_epoch().count();

// Since Linux 6.12 a thread of the usual policy says how long its slices are: one with short slices preempts threads that compute sooner.
// Where that is refused, the kernel's usual slice holds.
void ask_for_short_slices() noexcept {
  if (sched_getscheduler(0) != SCHED_OTHER) {
    return;
  }
  struct {  // the kernel's sched_attr, whose header and the C library's exclude each other
    std::uint32_t size, sched_policy;
    std::uint64_t sched_flags;
    std::int32_t sched_nice;
    std::uint32_t sched_priority;
    std::uint64_t sched_runtime, sched_deadline, sched_period;
  } wanted{};
  wanted.size = sizeof wanted;
  wanted.sched_runtime = 100'000;  // nanoseconds, the shortest that there is
  wanted.sched_nice = getpriority(PRIO_PROCESS, 0);
  syscall(SYS_sched_setattr, 0, &wanted, 0);
}

}  // namespace

Reactor::Reactor(RuntimeCore& core, const Duties& duties) : core_(core), duties_(duties) {
  for (auto& due : upkeep_) {
    due.store(never, std::memory_order_relaxed);
  }
}

Reactor::~Reactor() { stop(); }

void Reactor::start() {
  const base::WithoutSignals quiet;  // before the thread is there: it may be long until it runs
  thread_ = std::thread(&Reactor::run, this);
}

void Reactor::stop() noexcept {
  if (!thread_.joinable()) {
    return;
  }
  {
    const base::LockGuard lock(mutex_);
    ended_ = true;
    notify();
  }
  thread_.join();
}

Timers::Id Reactor::call_at(base::TimePoint deadline, std::function<void()> action) {
  const Timers::Added added = timers_.call_at(deadline, std::move(action));
  if (added.earliest) {
    arm(deadline);
  }
  return added.id;
}

void Reactor::expect(Upkeep upkeep, base::TimePoint when) noexcept {
  std::atomic<base::Clock::rep>& due = upkeep_[static_cast<unsigned>(upkeep)];
  const base::Clock::rep wanted = when.time_since_epoch().count();
  // Ordered after what the caller has changed, as in `tend`: either this sees that the look has begun, or the look sees the change.
  base::Clock::rep current = due.load(std::memory_order_seq_cst);
  while (wanted < current) {
    if (due.compare_exchange_weak(current, wanted, std::memory_order_relaxed)) {
      arm(when);
      return;
    }
  }
}

int Reactor::watch(const std::shared_ptr<DescriptorWait>& wait) {
  const base::LockGuard lock(mutex_);
  if (!descriptors_.ready()) {
    if (const int error = descriptors_.start(); error != 0) {
      return error;
    }
  }
  const int error = descriptors_.add(wait);
  changed_.notify_one();  // the thread goes to sleep in `epoll`
  return error;
}

void Reactor::arm(base::TimePoint when) noexcept {
  const base::LockGuard lock(mutex_);
  if (when >= armed_) {
    return;
  }
  armed_ = when;
  if (target_ != base::TimePoint::min() && when < target_ - most_late) {
    notify();
  }
}

void Reactor::notify() noexcept {
  if (in_descriptors_) {
    descriptors_.notify();
  } else {
    changed_.notify_one();
  }
}

// Returns false when the thread has to end.
bool Reactor::sleep() noexcept {
  base::UniqueLock lock(mutex_);
  while (!ended_ && base::Clock::now() < armed_) {
    target_ = armed_;
    if (descriptors_.in_use()) {
      const base::TimePoint until = target_;
      in_descriptors_ = true;
      lock.unlock();
      const bool delivered = descriptors_.wait(until);
      lock.lock();
      in_descriptors_ = false;
      if (delivered) {
        break;
      }
    } else if (target_ == base::TimePoint::max()) {
      changed_.wait(lock);
    } else {
      changed_.wait_until(lock, target_);
    }
  }
  target_ = base::TimePoint::min();
  armed_ = base::TimePoint::max();
  return !ended_;
}

base::TimePoint Reactor::next_deadline(bool in_vain) noexcept {
  base::TimePoint next = timers_.earliest();
  for (const auto& due : upkeep_) {
    next = std::min(next, base::TimePoint(base::Clock::duration(due.load(std::memory_order_relaxed))));
  }
  const base::TimePoint soon = base::Clock::now() + lingering;
  lingered_ = in_vain && !lingered_ && soon < next;
  return lingered_ ? soon : next;
}

void Reactor::run() noexcept {
  pthread_setname_np(pthread_self(), "dovetail-events");
  ask_for_short_slices();
  prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);  // nanoseconds; the default of 50 us would add to each delay
  context() = {&core_, nullptr, nullptr, nullptr};
  while (sleep()) {
    duties_.begin_turn(core_);
    const bool in_vain = timers_.run_due() == 0;
    tend();
    const base::TimePoint next = next_deadline(in_vain);
    const base::LockGuard lock(mutex_);
    armed_ = std::min(armed_, next);
  }
  context() = {};
}

void Reactor::tend() noexcept {
  const base::Clock::rep now = base::Clock::now().time_since_epoch().count();
  for (const Upkeep upkeep :
       {Upkeep::fibers, Upkeep::stuck, Upkeep::long_waits, Upkeep::throttle, Upkeep::executors, Upkeep::services}) {
    std::atomic<base::Clock::rep>& due = upkeep_[static_cast<unsigned>(upkeep)];
    if (due.load(std::memory_order_relaxed) <= now) {
      // Before the look: a thread that names a time from now on has changed what is looked at, or finds no earlier time
      // here.
      due.exchange(never, std::memory_order_seq_cst);
      expect(upkeep, duties_.look(core_, upkeep));
    }
  }
}

}  // namespace dovetail::tasking
