// How many tasks a runtime has made and completed. Each worker counts for itself and adds to the sum now and then. So counting
// costs no shared write, and reading does not depend on the number of workers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace dovetail::tasking {

/// What all threads of a runtime have told.
class TaskTotals {
 public:
  void add(std::uint64_t made, std::uint64_t completed) noexcept {
    made_.fetch_add(made, std::memory_order_relaxed);
    completed_.fetch_add(completed, std::memory_order_relaxed);
  }
  std::uint64_t made() const noexcept { return made_.load(std::memory_order_relaxed); }
  std::uint64_t completed() const noexcept { return completed_.load(std::memory_order_relaxed); }
  /// Made and not completed; as exact as what has been told.
  std::size_t pending() const noexcept {
    const std::uint64_t made = made_.load(std::memory_order_relaxed);
    const std::uint64_t ended = completed();
    return made > ended ? static_cast<std::size_t>(made - ended) : 0;
  }

 private:
  alignas(64) std::atomic<std::uint64_t> made_{0};
  std::atomic<std::uint64_t> completed_{0};
};

/// Of one worker, which alone writes it.
class TaskCount {
 public:
  /// Tasks that are counted before they are told.
  static constexpr std::uint64_t most_untold = 64;

  explicit TaskCount(TaskTotals& totals) noexcept : totals_(totals) {}

  /// Returns whether it has told: a spawner then looks whether too many tasks are pending.
  bool count_made() noexcept { return count(made_); }
  void count_completed() noexcept { count(completed_); }
  void tell() noexcept {
    const std::uint64_t made = made_.load(std::memory_order_relaxed);
    const std::uint64_t completed = completed_.load(std::memory_order_relaxed);
    if (made != told_made_ || completed != told_completed_) {
      totals_.add(made - told_made_, completed - told_completed_);
      told_made_ = made;
      told_completed_ = completed;
    }
  }
  /// Tasks made and tasks completed, together. Any thread.
  std::uint64_t progress() const noexcept {
    return made_.load(std::memory_order_relaxed) + completed_.load(std::memory_order_relaxed);
  }

 private:
  bool count(std::atomic<std::uint64_t>& tasks) noexcept {
    const std::uint64_t number = tasks.load(std::memory_order_relaxed) + 1;
    tasks.store(number, std::memory_order_relaxed);
    if (number % most_untold != 0) [[likely]] {
      return false;
    }
    tell();
    return true;
  }

  TaskTotals& totals_;
  std::atomic<std::uint64_t> made_{0};
  std::atomic<std::uint64_t> completed_{0};
  std::uint64_t told_made_ = 0;
  std::uint64_t told_completed_ = 0;
};

}  // namespace dovetail::tasking
