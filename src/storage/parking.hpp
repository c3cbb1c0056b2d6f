// How the workers of one runtime sleep and are woken. See docs/design/storage.md, "Sleeping".
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

namespace dovetail::storage {

class WorkerQueue;

/// One per service. Each worker calls the functions with its own number, save `unpark`, which anybody calls.
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
  void unpark(unsigned worker) noexcept;
  /// The worker starts or ends a slice.
  void busy(unsigned worker, bool busy) noexcept;
  /// The worker has handed operations over to the system: somebody should look after them if it is busy for long.
  void started_operations(unsigned worker) noexcept;
  /// The worker looked for completions of its own.
  void polled(unsigned worker) noexcept;
  /// Whether the calling worker was found to be the one that takes the completions of `owner`, whose slice is long.
  bool looks_after(unsigned worker, unsigned owner) const noexcept;

 private:
  // Those from `falling_asleep` on are woken by `unpark`, the last two by a system call.
  enum State : std::uint32_t { awake, notified, falling_asleep, asleep_on_word, asleep_on_descriptor };
  struct alignas(64) Slot {
    std::atomic<std::uint32_t> state{awake};
    int wake_descriptor = -1;        // Made before `state` is first `asleep_on_descriptor`.
    std::uint64_t looked_after = 0;  // Bit n: may take what worker n has in flight. Only the worker itself uses it.
    bool watched = false;            // It was the watcher when it last parked. Only the worker itself uses it.
    std::atomic<WorkerQueue*> queue{nullptr};
    // Odd while a slice runs. Written by the worker; read by the watcher, to whom a number that stays means a long slice.
    std::atomic<std::uint64_t> slice{0};
    // How often the worker polled: one that stays, of a worker that is awake, means a long slice that was expected to be short.
    std::atomic<std::uint64_t> polls{0};
    std::atomic<bool> announced{false};  // Set by the watcher, cleared by the worker when the long slice is over.
    std::uint64_t slice_seen = 0;        // The watcher's, as the next ones.
    std::uint64_t polls_seen = 0;
    bool announceable = false;
  };

  static bool advance(Slot& slot, State from, State to) noexcept;
  void sleep_on_word(Slot& slot, TimePoint deadline) noexcept;
  void sleep_on_descriptors(Slot& slot, bool watching, TimePoint deadline) noexcept;
  bool others_in_flight(unsigned worker) const noexcept;
  TimePoint begin_watch(unsigned worker, TimePoint deadline) noexcept;
  void end_watch(unsigned worker) noexcept;
  void find_watcher(unsigned worker, bool always_patient) noexcept;
  bool woken_lately() const noexcept;
  void call_watcher(int watcher) noexcept;
  void begin_long_slice(unsigned worker) noexcept;

  const unsigned workers_;
  std::unique_ptr<Slot[]> slots_;
  int watch_descriptor_ = -1;
  std::atomic<int> watcher_{-1};
  std::atomic<unsigned> parked_{0};
  std::atomic<unsigned> quiet_ticks_{
      0};  // Looks of watchers since one of them found a long slice. Only the watcher changes it.
  std::atomic<bool> look_soon_{false};            // The next look is to be a short time after this one.
  std::atomic<std::uint64_t> woken_to_watch_{0};  // When somebody was last woken to become the watcher, in ticks.
  bool announcing_ = false;                       // The watcher's: the watch descriptor may have been written.
};

}  // namespace dovetail::storage
