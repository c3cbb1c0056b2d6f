// The way of the requests of one runtime. It leads into the queues of their devices, from there to an engine, attempt by attempt,
// and back to the task that waits. Engines know this much and nothing of their owner.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "storage/engine.hpp"
#include "storage/request_lane.hpp"

namespace dovetail::storage {

enum class EngineChoice : std::uint8_t { automatic, uring, aio, threads };

class Dispatcher {
 public:
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  /// Starts a request whose fields are complete. On a compute worker of this runtime. Does not suspend.
  /// @param device Null: outside of all queues, as `nop` is.
  void start(Request& request, Device* device, int worker) noexcept {
    count_begun(request, worker);
    dispatch(request, device, worker);
  }
  /// @name The halves of `start`
  /// For a request that has to wait for something in between.
  /// @{
  void count_begun(Request& request, int worker) noexcept;
  void dispatch(Request& request, Device* device, int worker) noexcept;  ///< Also elsewhere: `worker` is -1 there.
  /// @}
  /// Ends a request that was counted but never dispatched.
  void finish_early(Request& request, int worker) noexcept { deliver(request, worker); }
  /// For engines: what an attempt gave. `worker` is the calling compute worker, or -1.
  void attempt_ended(Request& request, std::int64_t result, int worker) noexcept;

  /// Whether every write to a device goes to an engine: one was asked for, or something stands before them.
  bool engine_is_given() const noexcept { return engine_is_given_; }
  /// Requests that tasks have handed over so far, and that have not ended.
  std::uint64_t handed_over() const noexcept;
  std::size_t requests_in_flight() const noexcept;
  Route route(Device& device, std::uint8_t lane) { return lane_for(device, lane).route(); }

 protected:
  Dispatcher(EngineChoice choice, unsigned workers);
  ~Dispatcher();

  /// `ring` and `aio` are tried in this order where the choice allows them.
  /// Before any request starts.
  void set_engines(Engine& ring, Engine& aio, Engine& threads) noexcept {
    ring_ = &ring;
    aio_ = &aio;
    threads_ = &threads;
  }
  Engine& ring() const noexcept { return *ring_; }
  /// Null until a request went there.
  Engine* used_aio() const noexcept { return aio_used_.load(std::memory_order_acquire) ? aio_ : nullptr; }
  /// Ends what is kept in queues and was given up, and has what engines interrupt be looked at. From any thread.
  void cancel_kept() noexcept;
  /// Whether a task has been cancelled since this worker asked last. On that worker.
  bool cancelled_since_asked(unsigned worker) noexcept;

  const EngineChoice choice_;
  bool engine_is_given_;  // Constant from the start of the service on.
  const unsigned workers_;

 private:
  // Written only by its worker, so that counting needs no locked instruction.
  struct alignas(64) Counts {
    std::atomic<std::uint64_t> begun{0};
    std::atomic<std::uint64_t> delivered{0};
    std::uint64_t cancellations_seen = 0;  // Only the worker itself uses it.
  };

  RequestLane& lane_for(Device& device, std::uint8_t lane);
  std::optional<Route> forced_route(std::uint8_t lane) const noexcept;
  Engine& engine_for(const Request& request, int worker) noexcept;
  void launch(Request& request, int worker) noexcept { engine_for(request, worker).submit(request, worker); }
  void finish(Request& request, int worker) noexcept;
  void start_all(RequestQueue& admitted, int worker) noexcept;
  void finish_unadmitted(Request& request, int worker) noexcept;
  void leave_lane(const Request& request, RequestQueue& startable) noexcept;
  void deliver(Request& request, int worker) noexcept;
  bool again_after_cancel(Request& request, int worker) const noexcept;
  void count_delivered(int worker) noexcept;

  Engine* ring_ = nullptr;
  Engine* aio_ = nullptr;
  Engine* threads_ = nullptr;
  std::atomic<bool> aio_used_{false};
  std::atomic<std::uint64_t> cancellations_{0};
  std::unique_ptr<Counts[]> counts_;
  alignas(64) std::atomic<std::uint64_t> delivered_elsewhere_{0};  // By executors.
  std::unique_ptr<std::atomic<RequestLane*>[]> lanes_;             // Made on demand.
  base::Mutex making_;                                             // Of `lanes_`, which are read without.
};

}  // namespace dovetail::storage
