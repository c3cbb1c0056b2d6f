// Services are polled by the clock, and when their descriptor is ready, for as long as they have something in flight; whatever the workers
// are doing. The one that puts workers to sleep is polled by workers: if one of them computes, an idle one is woken for that.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "base/clock.hpp"

namespace dovetail::tasking {

class IdleWorkers;
class Reactor;
class Service;

class PolledServices {
 public:
  /// Before the workers start.
  void add(Reactor& reactor, Service& service);
  /// The service that puts workers to sleep; there will be `workers` of them. Before they start.
  void add_parking(Reactor& reactor, IdleWorkers& idle, std::size_t workers, Service& service);
  /// Sees to it that services with something in flight are polled, and, `at_the_clock` too, polls those that are due. Called by a worker
  /// that is about to look for a task: what it delivers may be queued here.
  void look(bool at_the_clock) noexcept {
    if (begun_.load(std::memory_order_relaxed)) {
      at_the_clock ? poll_those_due() : arm_each();
    }
  }
  /// Whether there may be any that has something in flight.
  bool begun() const noexcept { return begun_.load(std::memory_order_relaxed); }
  /// From now on, services that are polled on demand are looked at, too. From anywhere, tasks included.
  void begin() noexcept;
  /// A worker polls them all the time: the thread that keeps time need not. Said now and then.
  void postpone() noexcept;
  /// Sees to it that services are polled while the worker sleeps, of which the one that parks may have need.
  void before_sleep() noexcept;
  /// The same for a worker that has begun operations while others sleep: they have not seen those.
  void operations_begin() noexcept;
  /// For the reactor: looks for workers that compute unexpectedly. Returns when to look again.
  base::TimePoint look_after() noexcept;

 private:
  struct Entry;
  struct Parking;
  void poll_those_due() noexcept;
  void arm_each() noexcept;
  std::vector<std::shared_ptr<Entry>> entries_;
  std::atomic<bool> begun_{false};  ///< There may be something to look at.
  std::shared_ptr<Parking> parking_;
};

}  // namespace dovetail::tasking
