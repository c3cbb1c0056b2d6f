// How the workers of one runtime sleep and are woken, and how other threads look after what a worker has in flight while it computes. See
// docs/design/storage.md, "Sleeping".
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

#include "base/mutex.hpp"

namespace dovetail::storage {

class WorkerQueue;

/// One per service. Each worker calls the functions with its own number, save those that any thread calls.
class Parking {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  explicit Parking(unsigned workers);
  ~Parking();
  Parking(const Parking&) = delete;
  Parking& operator=(const Parking&) = delete;

  /// Makes the queue of a worker known to the others. Called by its owner, once, before anything is submitted to it. `queue`
  /// outlives the last `park`. False where there is no descriptor left by which a sleep in it could be ended.
  bool add_queue(unsigned worker, WorkerQueue* queue) noexcept;

  void park(unsigned worker, TimePoint deadline) noexcept;
  /// Any thread may call it.
  void unpark(unsigned worker) noexcept;

  /// @name Busy workers
  /// A worker is busy while it runs a slice that may be long. Others may take its completions then, and each of them makes `descriptor` ready.
  /// @{
  void busy(unsigned worker, bool busy) noexcept;
  /// Any thread may call it.
  bool is_busy(unsigned worker) const noexcept;
  /// The worker looked for completions of its own.
  void polled(unsigned worker) noexcept;
  /// Takes workers to be busy that have something in flight and have neither slept nor polled since the last call. Hands over what they have
  /// gathered. Returns whether there were any. For the thread that keeps time.
  bool look_after() noexcept;
  /// An epoll instance; -1 before the first queue.
  int descriptor() const noexcept { return watch_.load(std::memory_order_acquire); }
  /// Takes note of what made it ready. Any thread.
  void answer() noexcept;
  /// @}

 private:
  enum State : std::uint32_t { awake, notified, asleep_on_word, asleep_in_queue };
  struct alignas(64) Slot {
    std::atomic<std::uint32_t> state{awake};
    int wake_descriptor = -1;  // Made before `state` is first `asleep_in_queue`.
    std::atomic<WorkerQueue*> queue{nullptr};
    std::atomic<bool> busy{false};
    std::atomic<std::uint32_t> looks{0};  // How often the worker polled or slept.
    std::uint32_t looks_seen = 0;         // For `look_after` alone.
  };

  bool make_watch() noexcept;
  void follow_busy(const Slot& slot, WorkerQueue& queue) const noexcept;
  static void sleep_on_word(Slot& slot, TimePoint deadline) noexcept;

  const unsigned workers_;
  std::unique_ptr<Slot[]> slots_;
  base::Mutex making_watch_;
  std::atomic<int> watch_{-1};
  std::atomic<int> bell_{-1};  // Written for each completion of a busy worker's queue; in `watch_`.
};

}  // namespace dovetail::storage
