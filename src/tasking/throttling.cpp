#include "tasking/throttling.hpp"

#include <vector>

#include "base/mutex.hpp"
#include "tasking/core.hpp"
#include "tasking/executors.hpp"
#include "tasking/schedule.hpp"

namespace dovetail::tasking {
namespace {

void release_all(RuntimeCore& core) noexcept {
  for (Task* task : core.throttle.take_held()) {
    wake(task);
  }
  ForeignWaits& foreign = core.foreign;
  const base::LockGuard lock(foreign.mutex);
  if (foreign.held_back > 0) {
    core.throttle.count_threads(-std::ptrdiff_t{foreign.held_back});
    foreign.held_back = 0;
    ++foreign.releases;
    foreign.changed.notify_all();
  }
}

}  // namespace

void release_spawners(RuntimeCore& core) noexcept {
  if (core.throttle.has_room(core.totals.pending())) {
    release_all(core);
  }
}

bool release_spawners_if_idle(RuntimeCore& core) noexcept {
  // Of a narrow window a worker may have told too few completions to look at it.
  if (core.throttle.holds_any() && core.throttle.has_room(core.totals.pending())) {
    release_all(core);
    return true;
  }
  const bool any_runs = core.idle.count() + core.idle.searching() < core.workers.size() || core.executors->busy() > 0;
  if (!any_runs &&
      core.throttle.count_without_waiting(core.totals.pending(), core.in_flight_elsewhere(), core.in_flight())) {
    release_all(core);
    return true;
  }
  const bool others_run = any_runs || core.in_flight() > 0 || core.reactor.has_timers();
  if (!core.throttle.is_time_to_release(others_run, core.totals.completed())) {
    return false;
  }
  release_all(core);
  return true;
}

void expect_spawners(RuntimeCore& core) noexcept {
  if (core.throttle.holds_any()) {
    core.reactor.expect(Reactor::Upkeep::throttle, base::Clock::now() + Throttle::between_releases);
  }
}

base::TimePoint look_after_spawners(RuntimeCore& core) noexcept {
  if (core.idle.count() == 0) {
    return base::TimePoint::max();  // the next one that is about to sleep says so
  }
  if (core.throttle.holds_any()) {
    release_spawners_if_idle(core);
  }
  return core.throttle.holds_any() ? base::Clock::now() + Throttle::between_releases : base::TimePoint::max();
}

void hold_thread(RuntimeCore& core) {
  ForeignWaits& foreign = core.foreign;
  base::UniqueLock lock(foreign.mutex);
  const std::uint64_t seen = foreign.releases;
  ++foreign.held_back;
  core.throttle.count_threads(1);
  core.idle.notify();
  const base::TimePoint deadline = base::Clock::now() + Throttle::between_releases;
  while (foreign.releases == seen && base::Clock::now() < deadline) {
    foreign.changed.wait_until(lock, deadline);
  }
  if (foreign.releases == seen) {
    --foreign.held_back;
    core.throttle.count_threads(-1);
    core.throttle.overrun();
  }
}

}  // namespace dovetail::tasking
