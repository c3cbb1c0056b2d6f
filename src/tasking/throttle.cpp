#include "tasking/throttle.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>

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
// Each worker has completed some that it has not told of.
constexpr std::size_t least_for_short = 2 * TaskCount::most_untold;

std::uint64_t processor_nanoseconds() noexcept {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}
}  // namespace

// For which the workers ran or slept. In the rest of the time other programs had the processors, which says nothing of the tasks.
double Throttle::microseconds_of_workers(base::Clock::duration elapsed, const IdleWorkers& idle,
                                         std::size_t workers) noexcept {
  const std::uint64_t processor = processor_nanoseconds();
  const std::uint64_t slept = idle.slept();
  const std::uint64_t ran_for = processor - processor_then_.exchange(processor, std::memory_order_relaxed);
  const std::uint64_t slept_for = slept - slept_then_.exchange(slept, std::memory_order_relaxed);
  const double microseconds = std::chrono::duration<double, std::micro>(elapsed).count();
  const double used = static_cast<double>(ran_for) / 1000 +
                      static_cast<double>(slept_for) / static_cast<double>(base::ticks_per_microsecond()) +
                      microseconds * static_cast<double>(idle.count());  // those that still sleep have not told
  return std::min(used, microseconds * static_cast<double>(workers));
}

void Throttle::adapt(const TaskTotals& totals, const IdleWorkers& idle, std::size_t workers) noexcept {
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
  const std::uint64_t before = completed_then_.exchange(completed, std::memory_order_relaxed);
  const double done = completed > before ? static_cast<double>(completed - before) : 0;
  // A task without accesses needs less than half of the memory, and none that is read again. So it may be one of many while other programs have the
  // processors: a worker then has more to do until another one, which holds some, goes on.
  const bool with_accesses = have_accesses_.exchange(false, std::memory_order_relaxed);
  const double had = microseconds_of_workers(elapsed, idle, workers);
  if (then == 0) {
    return;  // the first look, and the first after a rest, have nothing to compare with
  }
  // Of those that block in the operating system, too.
  const double lasts =
      std::chrono::duration<double, std::micro>(elapsed).count() * static_cast<double>(workers) / (done + 1);
  const double computes = with_accesses ? had / (done + 1) : lasts;
  // Below this the window costs more than it shows of what could run.
  constexpr double short_task_microseconds = 4;
  // Far above what the overhead of any task comes to, so that a window grown too large cannot justify itself.
  constexpr double long_task_microseconds = 20;
  const double wanted = static_cast<double>(usual_limit) *
                        std::max(std::min(computes / short_task_microseconds, 1.0), lasts / long_task_microseconds);
  const std::size_t least =
      with_accesses ? std::clamp(least_for_short * workers, least_limit, usual_limit) : usual_limit;
  // Some of them may not wait any more. If all do, the workers find soon that nothing can run.
  waiting_.store(waiting_.load(std::memory_order_relaxed) / 2, std::memory_order_relaxed);
  // It shrinks at once. Beyond what is usual it grows by doubling: one look at a few tasks says little.
  // After twice as many tasks they have fewer predecessors than they had. Half of it, since spawns are told by the dozen.
  const std::uint64_t since = (totals.made() - made_then_.load(std::memory_order_relaxed)) / 2;
  if (since > most_for_graph_.load(std::memory_order_relaxed)) {
    most_for_graph_.store(std::min<std::uint64_t>(since, most_limit), std::memory_order_relaxed);
  }
  const std::size_t most =
      std::min(most_for_graph_.load(std::memory_order_relaxed), std::max(usual_limit, 2 * limit()));
  limit_.store(
      static_cast<std::size_t>(std::min(std::max(wanted, static_cast<double>(least)), static_cast<double>(most))),
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
