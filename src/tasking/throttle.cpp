#include "tasking/throttle.hpp"

#include <algorithm>
#include <chrono>

namespace dovetail::tasking {
namespace {
// Between two releases. Where more have completed than that, the window is no bottleneck.
constexpr std::uint64_t much_progress = 1000;
// That wait for it: the one that it is bound to, and those after that one.
constexpr std::size_t tasks_of_an_operation = 4;
// That pending tasks may have together, about. Each takes 64 bytes, and 0.1 us to make and to release.
constexpr std::size_t most_predecessors = 8 * 1024;
// However many predecessors each task has: what is pending must show enough that can run.
constexpr std::size_t least_for_graph = 128;
constexpr std::size_t least_for_worker = 16;
}  // namespace

void Throttle::adapt(const TaskTotals& totals, std::size_t workers) noexcept {
  constexpr std::chrono::milliseconds shortest_look{1};
  if (fixed_limit_ != 0) {
    return;
  }
  const base::Clock::rep now = base::Clock::now().time_since_epoch().count();
  base::Clock::rep then = adapted_at_.load(std::memory_order_relaxed);
  const base::Clock::duration elapsed{now - then};
  if (elapsed < shortest_look || !adapted_at_.compare_exchange_strong(then, now, std::memory_order_relaxed)) {
    return;
  }
  const std::uint64_t completed = totals.completed();
  const std::uint64_t done = completed - completed_then_.exchange(completed, std::memory_order_relaxed);
  if (then == 0) {
    return;  // the first look has nothing to compare with
  }
  const double busy = std::chrono::duration<double, std::micro>(elapsed).count() * static_cast<double>(workers);
  const double microseconds_per_task = busy / static_cast<double>(done + 1);
  // Far above what the overhead of any task comes to, so that a window grown too large cannot justify itself.
  constexpr double long_task_microseconds = 20;
  const double wanted = static_cast<double>(least_limit) * microseconds_per_task / long_task_microseconds;
  // Some of them may not wait any more. If all do, the workers find soon that nothing can run.
  waiting_.store(waiting_.load(std::memory_order_relaxed) / 2, std::memory_order_relaxed);
  // It shrinks at once and grows by doubling: a moment in which other processes had the cores says nothing of the tasks.
  // After twice as many tasks they have fewer predecessors than they had. Half of it, since spawns are told by the dozen.
  const std::uint64_t since = (totals.made() - made_then_.load(std::memory_order_relaxed)) / 2;
  if (since > most_for_graph_.load(std::memory_order_relaxed)) {
    most_for_graph_.store(std::min<std::uint64_t>(since, most_limit), std::memory_order_relaxed);
  }
  const std::size_t most = std::min(most_for_graph_.load(std::memory_order_relaxed), 2 * limit());
  limit_.store(
      static_cast<std::size_t>(std::min(std::max(wanted, static_cast<double>(least_limit)), static_cast<double>(most))),
      std::memory_order_relaxed);
}

void Throttle::narrow(std::size_t predecessors, std::uint64_t made, std::size_t workers) noexcept {
  if (predecessors_.fetch_add(predecessors, std::memory_order_relaxed) + predecessors < most_predecessors) {
    return;
  }
  predecessors_.store(0, std::memory_order_relaxed);
  // So many tasks have as many predecessors as pending tasks may have.
  const std::size_t tasks = made - made_then_.exchange(made, std::memory_order_relaxed);
  const std::size_t least = std::max(least_for_graph, least_for_worker * workers);
  const std::size_t most = std::clamp(tasks, least, std::max(least, most_limit));
  most_for_graph_.store(most, std::memory_order_relaxed);
  if (limit() > most) {
    limit_.store(most, std::memory_order_relaxed);
  }
}

void Throttle::widen() noexcept {
  if (fixed_limit_ == 0) {
    limit_.store(std::min(most_limit, 2 * limit()), std::memory_order_relaxed);
  }
}

bool Throttle::count_without_waiting(std::size_t pending, std::size_t elsewhere, std::size_t in_flight) noexcept {
  if (fixed_limit_ != 0 || elsewhere == 0 || elsewhere < in_flight) {
    return false;
  }
  const std::size_t waiting = std::min({pending, tasks_of_an_operation * elsewhere, most_limit});
  waiting_.store(waiting, std::memory_order_relaxed);
  return pending < waiting + limit();
}

bool Throttle::is_time_to_release(bool others_run, std::uint64_t completed) noexcept {
  const base::TimePoint now = base::Clock::now();
  const base::TimePoint last{base::Clock::duration(released_at_.load(std::memory_order_relaxed))};
  if (others_run && now < last + between_releases) {
    return false;
  }
  released_at_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  if (others_run && completed - completed_at_release_.exchange(completed, std::memory_order_relaxed) < much_progress) {
    widen();
  }
  return true;
}

void Throttle::hold(Task* task) {
  const base::LockGuard lock(mutex_);
  tasks_.push_back(task);
  held_.fetch_add(1, std::memory_order_seq_cst);
}

std::vector<Task*> Throttle::take_held() noexcept {
  std::vector<Task*> tasks;
  const base::LockGuard lock(mutex_);
  tasks.swap(tasks_);
  held_.fetch_sub(tasks.size(), std::memory_order_seq_cst);
  return tasks;
}

}  // namespace dovetail::tasking
