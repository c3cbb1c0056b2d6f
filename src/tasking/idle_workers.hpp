// Which workers have nothing to do, and how they are woken. Waking follows one rule: as long as a woken worker is still looking
// for work, no other is woken; the one that finds work wakes the next.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/mutex.hpp"
#include "tasking/sleeper.hpp"

namespace dovetail::tasking {

class IdleWorkers {
 public:
  /// Adds the next worker. Before the workers start.
  void add(Sleeper& sleeper);

  /// The worker is about to sleep. It must look for work once more afterwards, since a thread that brought some may not have seen
  /// it.
  void enter(unsigned worker);
  /// The worker does not sleep any more. Returns false if another thread had already woken it, and so has counted it as one that
  /// searches.
  bool leave(unsigned worker);
  /// Work has arrived: whether a worker has to be woken for it, because some are idle and none is looking already. For callers
  /// whose push is ordered before this by a fence, or by the process-wide barrier of a worker that falls asleep.
  bool lacks_searcher() const noexcept {
    return count_.load(std::memory_order_relaxed) > 0 && searching_.load(std::memory_order_relaxed) == 0;
  }
  /// Work has arrived, from any thread: wakes a worker unless one is looking already.
  void notify() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (lacks_searcher()) {
      wake_one();
    }
  }
  /// Wakes one worker if any is idle, even if another is looking.
  void wake_one() noexcept;

  /// @name Pushes of workers
  /// A worker that is awake pushes with a fence before it looks for idle ones, or without. One that has entered the list needs the
  /// process-wide barrier if another one pushes without.
  /// @{
  void pushes_with_fence() noexcept { without_fence_.fetch_sub(1, std::memory_order_seq_cst); }
  void pushes_without_fence() noexcept { without_fence_.fetch_add(1, std::memory_order_seq_cst); }
  unsigned pushing_without_fence() const noexcept { return without_fence_.load(std::memory_order_seq_cst); }
  /// @}

  void begin_search() noexcept { searching_.fetch_add(1, std::memory_order_seq_cst); }
  /// Returns true if it was the last one looking.
  bool end_search() noexcept { return searching_.fetch_sub(1, std::memory_order_seq_cst) == 1; }

  /// @name Lingering: one worker polls for a while instead of sleeping. It counts as one that searches.
  /// @{
  /// False if another one does.
  bool begin_linger() noexcept { return !lingers_.exchange(true, std::memory_order_acq_rel); }
  void end_linger() noexcept { lingers_.store(false, std::memory_order_release); }
  /// @}

  /// A worker has slept for so many ticks, while tasks were pending that it could not run.
  void add_slept(std::uint64_t ticks) noexcept { slept_.fetch_add(ticks, std::memory_order_relaxed); }
  /// All of them together, without those that sleep now.
  std::uint64_t slept() const noexcept { return slept_.load(std::memory_order_relaxed); }

  std::size_t count() const noexcept { return count_.load(std::memory_order_relaxed); }
  unsigned searching() const noexcept { return searching_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t nowhere = ~std::size_t{0};
  struct Worker {
    Sleeper* sleeper;
    std::size_t place = nowhere;  ///< In `idle_`.
  };
  void take_out(unsigned worker) REQUIRES(mutex_);

  base::Mutex mutex_;
  std::vector<Worker> workers_ GUARDED_BY(mutex_);
  std::vector<unsigned> idle_
      GUARDED_BY(mutex_);  ///< Woken from its end: the one that has slept for the shortest time.
  alignas(64) std::atomic<std::size_t> count_{0};
  std::atomic<unsigned> searching_{0};
  std::atomic<bool> lingers_{false};
  alignas(64) std::atomic<unsigned> without_fence_{0};
  std::atomic<std::uint64_t> slept_{0};
};

}  // namespace dovetail::tasking
