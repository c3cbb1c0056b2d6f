#include "tasking/throttle.hpp"

#include <algorithm>
#include <chrono>

#include "tasking/context.hpp"
#include "tasking/core.hpp"
#include "tasking/pause.hpp"

namespace dovetail::tasking {
namespace {
constexpr std::chrono::milliseconds between_releases{100};
// Between two releases. Where more have completed than that, the window is no bottleneck.
constexpr std::uint64_t much_progress = 1000;
// That wait for it: the one that it is bound to, and those after that one.
constexpr std::size_t tasks_of_an_operation = 4;
}  // namespace

bool Throttle::is_crowded(const RuntimeCore& core) const noexcept {
  return core.totals.pending() >= limit() + waiting_.load(std::memory_order_relaxed);
}

void Throttle::adapt(const RuntimeCore& core) noexcept {
  constexpr std::chrono::milliseconds shortest_look{1};
  const base::Clock::rep now = base::Clock::now().time_since_epoch().count();
  base::Clock::rep then = adapted_at_.load(std::memory_order_relaxed);
  const base::Clock::duration elapsed{now - then};
  if (elapsed < shortest_look || !adapted_at_.compare_exchange_strong(then, now, std::memory_order_relaxed)) {
    return;
  }
  const std::uint64_t sum = core.totals.completed();
  const std::uint64_t done = sum - completed_then_.exchange(sum, std::memory_order_relaxed);
  if (then == 0) {
    return;  // the first look has nothing to compare with
  }
  const double busy =
      std::chrono::duration<double, std::micro>(elapsed).count() * static_cast<double>(core.workers.size());
  const double microseconds_per_task = busy / static_cast<double>(done + 1);
  // Far above what the overhead of any task comes to, so that a window grown too large cannot justify itself.
  constexpr double long_task_microseconds = 20;
  const double wanted = static_cast<double>(least_limit) * microseconds_per_task / long_task_microseconds;
  // Some of them may not wait any more. If all do, the workers find soon that nothing can run.
  waiting_.store(waiting_.load(std::memory_order_relaxed) / 2, std::memory_order_relaxed);
  // It shrinks at once and grows by doubling: a moment in which other processes had the cores says nothing of the tasks.
  const std::size_t most = std::min(most_limit, 2 * limit());
  limit_.store(
      static_cast<std::size_t>(std::clamp(wanted, static_cast<double>(least_limit), static_cast<double>(most))),
      std::memory_order_relaxed);
}

void Throttle::make_way(RuntimeCore& core) {
  if (!is_crowded(core)) {
    return;
  }
  if (fixed_limit_ == 0) {
    adapt(core);
    if (!is_crowded(core)) {
      return;
    }
  }
  if (Task* task = context().task) {
    prepare_pause(task);
    {
      const base::LockGuard lock(mutex_);
      tasks_.push_back(task);
      held_.fetch_add(1, std::memory_order_seq_cst);
    }
    if (context().worker == nullptr) {
      core.idle.notify();  // an executor does not look again by itself; a worker releases, or has the reactor look
    }
    pause(task, WaitReason::throttle);
    return;
  }
  if (context().core != nullptr) {
    return;  // a worker between tasks, in an `onready`: it must go on
  }
  ForeignWaits& foreign = core.foreign;
  base::UniqueLock lock(foreign.mutex);
  const std::uint64_t seen = foreign.releases;
  ++foreign.held_back;
  held_.fetch_add(1, std::memory_order_seq_cst);
  core.idle.notify();
  const base::TimePoint deadline = base::Clock::now() + between_releases;
  while (foreign.releases == seen && base::Clock::now() < deadline) {
    foreign.changed.wait_until(lock, deadline);
  }
  if (foreign.releases == seen) {
    // The workers may all be blocked by bodies that wait for this very thread.
    --foreign.held_back;
    held_.fetch_sub(1, std::memory_order_seq_cst);
    widen();
  }
}

// Nothing else is known to be wrong with a program that waits for its spawner, so do not make it wait as long again.
void Throttle::widen() noexcept {
  if (fixed_limit_ == 0) {
    limit_.store(std::min(most_limit, 2 * limit()), std::memory_order_relaxed);
  }
}

void Throttle::release(RuntimeCore& core) noexcept {
  if (core.totals.pending() <= limit() / 2 + waiting_.load(std::memory_order_relaxed)) {
    release_all(core);
  }
}

bool Throttle::release_if_idle(RuntimeCore& core) noexcept {
  const bool any_runs = core.idle.count() + core.idle.searching() < core.workers.size() || core.executors->busy() > 0;
  if (!any_runs && count_from_here(core)) {
    release_all(core);
    return true;
  }
  const bool others_run = any_runs || core.in_flight() > 0 || core.reactor.has_timers();
  const base::TimePoint now = base::Clock::now();
  const base::TimePoint last{base::Clock::duration(released_at_.load(std::memory_order_relaxed))};
  if (others_run && now < last + between_releases) {
    return false;
  }
  released_at_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  const std::uint64_t sum = core.totals.completed();
  if (others_run && sum - completed_at_release_.exchange(sum, std::memory_order_relaxed) < much_progress) {
    widen();
  }
  release_all(core);
  return true;
}

// Returns whether that makes room.
bool Throttle::count_from_here(const RuntimeCore& core) noexcept {
  const std::size_t elsewhere = core.in_flight_elsewhere();
  if (fixed_limit_ != 0 || elsewhere == 0 || elsewhere < core.in_flight()) {
    return false;
  }
  const std::size_t pending = core.totals.pending();
  const std::size_t waiting = std::min({pending, tasks_of_an_operation * elsewhere, most_limit});
  waiting_.store(waiting, std::memory_order_relaxed);
  return pending < waiting + limit();
}

void Throttle::before_sleep(RuntimeCore& core) const noexcept {
  if (holds_any()) {
    core.reactor.expect(Reactor::Upkeep::throttle, base::Clock::now() + between_releases);
  }
}

base::TimePoint Throttle::look(RuntimeCore& core) noexcept {
  if (core.idle.count() == 0) {
    return base::TimePoint::max();  // the next one that is about to sleep says so
  }
  if (holds_any()) {
    release_if_idle(core);
  }
  return holds_any() ? base::Clock::now() + between_releases : base::TimePoint::max();
}

void Throttle::release_all(RuntimeCore& core) noexcept {
  std::vector<Task*> tasks;
  {
    const base::LockGuard lock(mutex_);
    tasks.swap(tasks_);
    held_.fetch_sub(tasks.size(), std::memory_order_seq_cst);
  }
  for (Task* task : tasks) {
    wake(task);
  }
  ForeignWaits& foreign = core.foreign;
  const base::LockGuard lock(foreign.mutex);
  if (foreign.held_back > 0) {
    held_.fetch_sub(foreign.held_back, std::memory_order_seq_cst);
    foreign.held_back = 0;
    ++foreign.releases;
    foreign.changed.notify_all();
  }
}

}  // namespace dovetail::tasking
