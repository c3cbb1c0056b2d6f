// What the storage room has for each runtime: its engines, the queues of its devices, and the sleep of its workers.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "storage/engine.hpp"
#include "storage/parking.hpp"
#include "storage/queue_engine.hpp"
#include "storage/request_lane.hpp"
#include "tasking/service.hpp"

namespace dovetail::storage {

class StorageService final : public tasking::Service {
 public:
  /// @throws std::invalid_argument for an unknown engine, or for `uring` or `aio` where there is none.
  StorageService(detail::RuntimeCore& core, const std::string& engine, unsigned workers);
  ~StorageService() override;

  /// The service of a runtime. Never null once the runtime has started.
  static StorageService* of(detail::RuntimeCore& core) noexcept;
  /// The service of the runtime that the calling thread is a compute worker of, and the number of that worker; null on other
  /// threads and in the child of a fork.
  struct Here {
    StorageService* service = nullptr;
    int worker = -1;
  };
  static Here here() noexcept;

  /// Starts a request whose fields are complete. On a compute worker of this runtime. Does not suspend.
  /// @param device Null: outside of all queues, as `nop` is.
  void start(Request& request, LearnedDevice* device, int worker) noexcept {
    count_begun(request, worker);
    dispatch(request, device, worker);
  }
  /// @name The halves of `start`
  /// For a request that has to wait for something in between.
  /// @{
  void count_begun(Request& request, int worker) noexcept;
  void dispatch(Request& request, LearnedDevice* device,
                int worker) noexcept;  ///< Also elsewhere: `worker` is -1 there.
  /// @}
  /// Ends a request that was counted but never dispatched.
  void finish_early(Request& request, int worker) noexcept;
  /// For engines: what an attempt gave. `worker` is the calling compute worker, or -1.
  void attempt_ended(Request& request, std::int64_t result, int worker) noexcept;

  /// Somebody cancelled tasks: has their requests end early, where that can be. From any thread.
  void cancel() noexcept;

  /// Puts something between the requests and each engine, such as `FaultEngine`. While nothing is in flight. For tests.
  using Decorator = std::function<std::unique_ptr<Engine>(StorageService& service, Engine& inner)>;
  void decorate(const Decorator& decorator);

  /// Whether every write to a device goes to an engine: one was asked for, or something stands before them.
  bool engine_is_given() const noexcept { return choice_ != Choice::automatic || decorations_[0] != nullptr; }
  /// Requests that tasks have handed over so far. For tests.
  std::uint64_t handed_over() const noexcept;
  /// Why requests go where they go: "auto", or the name of an engine with the reason.
  std::string why() const;
  Route route(LearnedDevice& device, Lane lane) { return lane_for(device, lane).route(); }

  void thread_started(int worker) override;
  void thread_stopping(int worker) override;
  unsigned poll(unsigned worker, tasking::PollScope scope) override;
  void flush(unsigned worker) override;
  std::size_t in_flight() const noexcept override;
  bool has_in_flight(unsigned worker) const noexcept override;
  int descriptor() const noexcept override { return parking_.descriptor(); }
  bool parks() const noexcept override { return true; }
  void park(unsigned worker, std::chrono::steady_clock::time_point deadline) override {
    parking_.park(worker, deadline);
  }
  void unpark(unsigned worker) noexcept override { parking_.unpark(worker); }
  void busy(unsigned worker, bool busy) noexcept override { parking_.busy(worker, busy); }
  bool look_after() noexcept override { return parking_.look_after(); }

 private:
  enum class Choice : std::uint8_t { automatic, uring, aio, threads };
  // Written only by its worker, so that counting needs no locked instruction.
  struct alignas(64) Counts {
    std::atomic<std::uint64_t> begun{0};
    std::atomic<std::uint64_t> delivered{0};
    std::uint64_t cancellations_seen = 0;  // Only the worker itself uses it.
  };

  static Choice parse(const std::string& engine);
  RequestLane& lane_for(LearnedDevice& device, Lane lane);
  Engine& engine_for(const Request& request, int worker) noexcept;
  bool prepare_aio(const Request& request, unsigned worker) noexcept;
  void launch(Request& request, int worker) noexcept { engine_for(request, worker).submit(request, worker); }
  void finish(Request& request, int worker) noexcept;
  void start_all(RequestQueue& admitted, int worker) noexcept;
  void finish_unadmitted(Request& request, int worker) noexcept;
  void leave_lane(const Request& request, RequestQueue& startable) noexcept;
  void deliver(Request& request, int worker) noexcept;
  bool again_after_cancel(Request& request, int worker) const noexcept;
  void count_delivered(int worker) noexcept;

  const Choice choice_;
  const unsigned workers_;
  Parking parking_;
  QueueEngine<Ring> uring_;
  QueueEngine<AioQueue> aio_;
  std::unique_ptr<Engine> threads_;
  Engine* ring_path_;  // The engines, or what decorates them.
  Engine* aio_path_;
  Engine* threads_path_;
  std::atomic<bool> aio_used_{false};
  std::atomic<std::uint64_t> cancellations_{0};
  std::unique_ptr<Engine> decorations_[3];
  std::unique_ptr<Counts[]> counts_;
  alignas(64) std::atomic<std::uint64_t> delivered_elsewhere_{0};  // By executors.
  std::unique_ptr<std::atomic<RequestLane*>[]> lanes_;             // Made on demand.
  std::mutex making_;
};

}  // namespace dovetail::storage
