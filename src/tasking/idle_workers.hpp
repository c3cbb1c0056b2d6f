// Which workers have nothing to do, and how they are woken. Waking follows one rule: as long as a woken worker is still looking
// for work, no other is woken; the one that finds work wakes the next.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <vector>

namespace dovetail::tasking {

class Worker;

class IdleWorkers {
 public:
  /// The worker is about to sleep. It must look for work once more afterwards, since whoever brought some may not have seen it.
  /// Returns how many are idle now, itself included.
  std::size_t enter(Worker* worker);
  /// The worker does not sleep any more. Returns false if somebody had already woken it, who then has counted it as one that
  /// searches.
  bool leave(Worker* worker);
  /// Work has arrived: whether a worker has to be woken for it, because some are idle and none is looking already.
  bool lacks_searcher() const noexcept {
    return count_.load(std::memory_order_relaxed) > 0 && searching_.load(std::memory_order_relaxed) == 0;
  }
  /// As above, for callers whose push is not ordered by the process-wide barrier of a worker that falls asleep.
  bool lacks_searcher_from_outside() noexcept {
    return count_.fetch_add(0, std::memory_order_seq_cst) > 0 && searching_.load(std::memory_order_relaxed) == 0;
  }
  /// Work has arrived from a caller as above: wakes a worker unless one is looking already.
  void notify_from_outside() noexcept {
    if (lacks_searcher_from_outside()) {
      wake_one();
    }
  }
  /// Wakes one worker if any is idle, whoever may be looking.
  void wake_one() noexcept;
  void wake_all() noexcept;

  void begin_search() noexcept { searching_.fetch_add(1, std::memory_order_seq_cst); }
  /// Returns true if it was the last one looking.
  bool end_search() noexcept { return searching_.fetch_sub(1, std::memory_order_seq_cst) == 1; }
  std::size_t count() const noexcept { return count_.load(std::memory_order_relaxed); }
  unsigned searching() const noexcept { return searching_.load(std::memory_order_relaxed); }

 private:
  std::mutex mutex_;
  std::vector<Worker*> workers_;
  alignas(64) std::atomic<std::size_t> count_{0};
  std::atomic<unsigned> searching_{0};
};

/// Orders everything before it, in all running threads of the process, with everything after it: the expensive half of a
/// pair whose cheap half is a compiler barrier. Returns false where the kernel does not offer it.
bool process_wide_barrier() noexcept;

}  // namespace dovetail::tasking
