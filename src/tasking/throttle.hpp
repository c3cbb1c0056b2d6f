// How far spawning may run ahead of executing, so that memory stays bounded for any number of tasks. What spawners, workers and the reactor do about
// it is in throttling.hpp and spawn.cpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "dovetail/detail/body.hpp"
#include "tasking/idle_workers.hpp"
#include "tasking/task_count.hpp"

namespace dovetail::tasking {

using detail::Task;

/// The limit follows the tasks unless the program sets it. Short tasks with accesses are kept few: a window of pending tasks that does not fit the caches costs
/// more than such a task itself. The longer tasks take, the further ahead spawning may run. A thread that is held back costs two switches, so its
/// window is never that narrow. Tasks that wait for what other processes do are no work that spawning runs ahead of. So if nothing can run while
/// spawners are held back, the limit does not count a few tasks for each such operation. Where each task waits for many pending ones, the window is
/// narrow however long tasks take: it costs time and memory by its square. Any thread.
class Throttle {
 public:
  /// How long a spawner is held back at least, while others run and nothing makes room.
  static constexpr std::chrono::milliseconds between_releases{100};

  enum class Spawner : std::uint8_t { task, thread };

  /// `limit` 0: follow the tasks.
  explicit Throttle(std::size_t limit) : fixed_limit_(limit), limit_(limit == 0 ? usual_limit : limit) {}

  /// The limit at the moment, for spawners that are tasks.
  std::size_t limit() const noexcept { return limit_.load(std::memory_order_relaxed); }
  /// Whether a spawner should make way: so many tasks are pending.
  bool is_crowded(std::size_t pending, Spawner spawner = Spawner::task) const noexcept {
    return pending >= limit_for(spawner) + waiting_.load(std::memory_order_relaxed);
  }
  /// Whether there is room for those that were held back.
  bool has_room(std::size_t pending) const noexcept {
    const Spawner widest = threads_held_.load(std::memory_order_relaxed) > 0 ? Spawner::thread : Spawner::task;
    return pending <= limit_for(widest) / 2 + waiting_.load(std::memory_order_relaxed);
  }
  /// Has the limit follow the tasks of so many workers, of which `idle` knows how long they slept.
  void adapt(const TaskTotals& totals, const IdleWorkers& idle, std::size_t workers) noexcept;
  /// Nothing is pending: the time until the next burst is not that of tasks. For those without accesses a wide window does no harm.
  void rest() noexcept {
    if (have_accesses_.load(std::memory_order_relaxed) && adapted_at_.load(std::memory_order_relaxed) != 0) {
      adapted_at_.store(0, std::memory_order_relaxed);
    }
  }
  /// A task with accesses was spawned that waits for so many others.
  void count_predecessors(std::size_t predecessors, const TaskTotals& totals, std::size_t workers) noexcept {
    if (!have_accesses_.load(std::memory_order_relaxed)) [[unlikely]] {
      have_accesses_.store(true, std::memory_order_relaxed);
    }
    if (predecessors >= many_predecessors && fixed_limit_ == 0) [[unlikely]] {
      narrow(predecessors, totals.made(), workers);
    }
  }
  /// Nothing else is known to be wrong with a program that waits for its spawner, so it is not to wait as long again.
  void widen() noexcept;
  /// A thread goes on although nothing has made room. Until there is room, threads look after each task that they spawn. Otherwise each would make more than one
  /// task in the time for which it is held back, without bound where few end.
  void overrun() noexcept {
    widen();
    is_overrun_.store(true, std::memory_order_relaxed);
  }
  bool is_overrun() const noexcept { return is_overrun_.load(std::memory_order_relaxed); }
  /// There is room again.
  void end_overrun() noexcept { is_overrun_.store(false, std::memory_order_relaxed); }
  /// Of the operations in flight, `elsewhere` end in other processes: if all do, tasks that wait for them are not counted. Returns whether that makes
  /// room.
  bool count_without_waiting(std::size_t pending, std::size_t elsewhere, std::size_t in_flight) noexcept;
  /// Whether to let held-back spawners go although there is no room, after `completed` tasks. All other tasks may wait for what a spawner does next.
  bool is_time_to_release(bool others_run, std::uint64_t completed) noexcept;

  /// @name Spawners that are held back
  /// @{
  bool holds_any() const noexcept { return held_.load(std::memory_order_relaxed) > 0; }
  /// Threads are counted in `ForeignWaits`, too.
  void count_threads(std::ptrdiff_t change) noexcept {
    threads_held_.fetch_add(static_cast<std::size_t>(change), std::memory_order_relaxed);
    held_.fetch_add(static_cast<std::size_t>(change), std::memory_order_seq_cst);
  }
  void hold(Task* task);
  /// All tasks that are held back; they are no more.
  std::vector<Task*> take_held() noexcept;
  /// @}

 private:
  static constexpr std::size_t least_limit = 256;
  static constexpr std::size_t usual_limit = 1024;
  static constexpr std::size_t most_limit = 128 * 1024;
  /// Tasks that wait for fewer are not counted: they cost no shared write.
  static constexpr std::size_t many_predecessors = 32;

  std::size_t limit_for(Spawner spawner) const noexcept {
    const bool may_be_narrow = spawner == Spawner::task || fixed_limit_ != 0;
    return may_be_narrow ? limit()
                         : std::max(limit(), std::min(usual_limit, most_for_graph_.load(std::memory_order_relaxed)));
  }
  double microseconds_of_workers(base::Clock::duration elapsed, const IdleWorkers& idle, std::size_t workers) noexcept;
  void narrow(std::size_t predecessors, std::uint64_t made, std::size_t workers) noexcept;

  const std::size_t fixed_limit_;
  std::atomic<std::size_t> limit_;
  std::atomic<std::size_t> waiting_{0};                  ///< Pending tasks that the limit does not count.
  std::atomic<std::size_t> most_for_graph_{most_limit};  ///< What the predecessors of the tasks allow.
  std::atomic<std::size_t> predecessors_{0};             ///< Since `made_then_`, of tasks that have many.
  std::atomic<std::uint64_t> made_then_{0};
  std::atomic<base::Clock::rep> adapted_at_{0};
  std::atomic<std::uint64_t> completed_then_{0};
  std::atomic<std::uint64_t> processor_then_{0};  ///< Nanoseconds of this process.
  std::atomic<std::uint64_t> slept_then_{0};      ///< Ticks.
  std::atomic<base::Clock::rep> released_at_{0};
  std::atomic<std::uint64_t> completed_at_release_{0};
  std::atomic<std::size_t> held_{0};
  std::atomic<std::size_t> threads_held_{0};  ///< Of these.
  std::atomic<bool> is_overrun_{false};
  std::atomic<bool> have_accesses_{false};  ///< Some of the tasks since the last look.
  base::Mutex mutex_;
  std::vector<Task*> tasks_ GUARDED_BY(mutex_);
};

}  // namespace dovetail::tasking
