// Keeps spawning from running far ahead of executing, so that memory stays bounded for any number of tasks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "dovetail/detail/body.hpp"

namespace dovetail::tasking {

using detail::RuntimeCore;
using detail::Task;

/// The limit follows the tasks unless the program sets it: short tasks are kept few, because a window of pending tasks that does
/// not fit the caches costs more than such a task itself; the longer tasks take, the further ahead spawning may run. Tasks that wait for what
/// other processes do are no work that spawning runs ahead of: if nothing can run while spawners are held back, the limit does not count a
/// few tasks for each such operation.
class Throttle {
 public:
  /// `limit` 0: follow the tasks.
  explicit Throttle(std::size_t limit) : fixed_limit_(limit), limit_(limit == 0 ? least_limit : limit) {}

  /// Whether a spawner should `make_way`.
  bool is_crowded(const RuntimeCore& core) const noexcept;
  /// Called by a spawner now and then. Suspends it (or blocks a foreign thread) while too many tasks are pending. Whoever might
  /// be needed to get them done goes on: an idle runtime releases its spawners.
  void make_way(RuntimeCore& core);
  /// Lets spawners go on if there is room again.
  void release(RuntimeCore& core) noexcept;
  /// Lets spawners go on for an idle worker: at once if nothing runs and what is in flight ends elsewhere, since then they may be what all
  /// else waits for; otherwise a few times a second, since even then that cannot be excluded. Returns whether it did.
  bool release_if_idle(RuntimeCore& core) noexcept;
  /// For a worker that is about to sleep: while spawners are held back, the reactor is to `look`.
  void before_sleep(RuntimeCore& core) const noexcept;
  /// `release_if_idle` for the workers that sleep. Returns when to look again.
  base::TimePoint look(RuntimeCore& core) noexcept;
  bool holds_any() const noexcept { return held_.load(std::memory_order_relaxed) > 0; }

  /// The limit at the moment.
  std::size_t limit() const noexcept { return limit_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t least_limit = 1024;
  static constexpr std::size_t most_limit = 128 * 1024;

  void adapt(const RuntimeCore& core) noexcept;
  bool count_from_here(const RuntimeCore& core) noexcept;
  void release_all(RuntimeCore& core) noexcept;
  void widen() noexcept;

  const std::size_t fixed_limit_;
  std::atomic<std::size_t> limit_;
  std::atomic<std::size_t> waiting_{0};  ///< Pending tasks that the limit does not count.
  std::atomic<base::Clock::rep> adapted_at_{0};
  std::atomic<std::uint64_t> completed_then_{0};
  std::atomic<base::Clock::rep> released_at_{0};
  std::atomic<std::uint64_t> completed_at_release_{0};
  std::atomic<std::size_t> held_{0};
  base::Mutex mutex_;
  std::vector<Task*> tasks_ GUARDED_BY(mutex_);  ///< Held back. Threads are counted in `ForeignWaits`.
};

}  // namespace dovetail::tasking
