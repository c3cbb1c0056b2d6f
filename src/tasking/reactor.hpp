// Keeps time and watches descriptors, so that neither has to wait for the end of a body. See docs/design/time.md.
//
// One thread of a runtime sleeps in the kernel until the earliest deadline, or until a descriptor that a task waits for is ready. It
// delivers itself: it wakes the task or calls the polling function. It runs no tasks. While no task waits for a descriptor, the thread
// uses none itself. So a process that has none left, or closes all of them, still has its timers.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <thread>

#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "tasking/descriptor_waits.hpp"
#include "tasking/timers.hpp"

namespace dovetail::tasking {

using detail::RuntimeCore;

class Reactor {
 public:
  /// What the runtime itself has to look at. These are no timers: a runtime that waits for nothing else may be stuck.
  enum class Upkeep : unsigned {
    fibers,      ///< Whether the memory of resting fibers can be given back.
    stuck,       ///< Whether the runtime is stuck.
    long_waits,  ///< Whether something does not come that tasks wait for.
    throttle,    ///< Whether a spawner that is held back should go on.
    executors,   ///< Whether more I/O tasks should run.
    services,    ///< Whether a worker computes while what it has begun needs another one.
  };
  /// What the thread of the reactor does for the runtime.
  struct Duties {
    void (*begin_turn)(const RuntimeCore& core) noexcept;                ///< Each time that it has slept.
    base::TimePoint (*look)(RuntimeCore& core, Upkeep upkeep) noexcept;  ///< Returns when to look again.
  };

  Reactor(RuntimeCore& core, const Duties& duties);
  ~Reactor();
  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;

  /// Makes the thread. @throws std::system_error if the system gives none.
  void start();
  /// Ends the thread. Work that is due later is never done.
  void stop() noexcept;

  /// Calls `action` outside of any task at `deadline`, on this thread or on a worker. Any thread. It must be short and must not block.
  Timers::Id call_at(base::TimePoint deadline, std::function<void()> action);
  /// Takes back what `call_at` was given. False: it is done, or is being done. Any thread.
  bool cancel(const Timers::Id& id) noexcept { return timers_.cancel(id); }
  /// Does what is due, for a worker on its way. Returns how many things that were.
  unsigned run_due() { return timers_.run_due(); }
  /// Whether anything waits for its time.
  bool has_timers() const noexcept { return !timers_.empty(); }

  /// The reactor looks at `when`, or earlier if that was asked for; then again when the look says so. Any thread.
  void expect(Upkeep upkeep, base::TimePoint when) noexcept;

  /// Enters a wait for a descriptor, as `DescriptorWaits::add`. Any thread.
  int watch(const std::shared_ptr<DescriptorWait>& wait);
  DescriptorWaits& descriptors() noexcept { return descriptors_; }
  /// Tasks that wait for a descriptor.
  std::size_t waiting_for_descriptors() const noexcept { return descriptors_.waiting(); }

 private:
  void arm(base::TimePoint when) noexcept;
  void notify() noexcept REQUIRES(mutex_);
  bool sleep() noexcept;
  base::TimePoint next_deadline(bool in_vain) noexcept;
  void run() noexcept;
  void tend() noexcept;

  RuntimeCore& core_;
  const Duties duties_;
  Timers timers_;
  DescriptorWaits descriptors_;
  base::Mutex mutex_;
  base::ConditionVariable changed_;
  /// The earliest deadline that was named since the thread last woke.
  base::TimePoint armed_ GUARDED_BY(mutex_) = base::TimePoint::max();
  /// Until when the thread sleeps; min(): it is awake.
  base::TimePoint target_ GUARDED_BY(mutex_) = base::TimePoint::min();
  bool in_descriptors_ GUARDED_BY(mutex_) = false;  ///< Where the thread sleeps.
  bool ended_ GUARDED_BY(mutex_) = false;
  bool lingered_ = false;                                ///< For the thread alone.
  std::array<std::atomic<base::Clock::rep>, 6> upkeep_;  ///< By `Upkeep`: when it is due.
  std::thread thread_;
};

}  // namespace dovetail::tasking
