// Keeps spawning from running far ahead of executing, so that memory stays bounded for any number of tasks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "dovetail/detail/body.hpp"

namespace dovetail::tasking {

using detail::RuntimeCore;
using detail::Task;

/// Counts tasks made and completed. One per worker, written by that worker alone, so that counting costs no shared write; the
/// difference over all of them is the number of pending tasks.
struct TaskCount {
  std::atomic<std::uint64_t> made{0};
  std::atomic<std::uint64_t> completed{0};
  void count_made() noexcept { made.store(made.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }
  void count_completed() noexcept {
    completed.store(completed.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
};

class Throttle {
 public:
  explicit Throttle(std::size_t limit) : limit_(limit) {}

  /// Called by a spawner now and then. Suspends it (or blocks a foreign thread) while too many tasks are pending. Whoever might
  /// be needed to get them done goes on: an idle runtime releases its spawners.
  void make_way(RuntimeCore& core);
  /// Lets spawners go on if there is room again, or if nothing else can run.
  void release(RuntimeCore& core, bool nothing_runs) noexcept;
  bool holds_any() const noexcept { return held_.load(std::memory_order_relaxed) > 0; }

  std::size_t pending(const RuntimeCore& core) const noexcept;
  std::size_t limit() const noexcept { return limit_; }

  /// Tasks made and completed by threads that are not workers.
  std::atomic<std::uint64_t> foreign_made{0};
  std::atomic<std::uint64_t> foreign_completed{0};

 private:
  const std::size_t limit_;
  std::atomic<std::size_t> held_{0};
  std::mutex mutex_;
  std::vector<Task*> tasks_;
  std::uint64_t released_foreign_ = 0;
  unsigned foreign_waiting_ = 0;
};

}  // namespace dovetail::tasking
