// The state of one runtime. Rooms above see it only as an opaque pointer.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "dovetail/options.hpp"
#include "fiber/stack_pool.hpp"
#include "tasking/access_observer.hpp"
#include "tasking/dependency_domain.hpp"
#include "tasking/fiber_cache.hpp"
#include "tasking/idle_workers.hpp"
#include "tasking/long_wait_looks.hpp"
#include "tasking/polled_services.hpp"
#include "tasking/reactor.hpp"
#include "tasking/selection.hpp"
#include "tasking/service.hpp"
#include "tasking/shared_queues.hpp"
#include "tasking/source_registry.hpp"
#include "tasking/stop_requests.hpp"
#include "tasking/stuck_watch.hpp"
#include "tasking/task_count.hpp"
#include "tasking/throttle.hpp"

namespace dovetail {
namespace tasking {
class Executors;
class Worker;

struct ServiceEntry {
  const void* key;
  std::unique_ptr<Service> service;
};

/// Threads that are not workers and wait for tasks.
struct ForeignWaits {
  /// As long as it lives, the runtime is not taken apart.
  class Stay {
   public:
    explicit Stay(ForeignWaits& waits) noexcept : waits_(waits) {
      waits_.waiting.fetch_add(1, std::memory_order_seq_cst);
    }
    ~Stay() { waits_.waiting.fetch_sub(1, std::memory_order_seq_cst); }
    Stay(const Stay&) = delete;
    Stay& operator=(const Stay&) = delete;

   private:
    ForeignWaits& waits_;
  };

  base::Mutex mutex;
  base::ConditionVariable changed;
  std::atomic<unsigned> waiting{0};
  std::atomic<unsigned> callbacks{0};            ///< Of tasks that have not completed: an event loop waits for them.
  unsigned held_back GUARDED_BY(mutex) = 0;      ///< Spawners that the throttle holds back, ...
  std::uint64_t releases GUARDED_BY(mutex) = 0;  ///< ... and how often it has let them go.
};
}  // namespace tasking

namespace detail {

struct RuntimeCore {
  explicit RuntimeCore(const Options& given);
  ~RuntimeCore();
  RuntimeCore(const RuntimeCore&) = delete;
  RuntimeCore& operator=(const RuntimeCore&) = delete;

  Options options;
  fiber::StackPool stacks;
  Task* root = nullptr;  ///< Parent of the tasks that are spawned from outside; never runs and never completes.
  std::unique_ptr<tasking::AccessObserver> observer;  ///< Null: there is none.
  tasking::TaskTotals totals;
  tasking::SharedQueues queues{totals};
  tasking::Reactor reactor;
  tasking::FiberPool fibers;  ///< Tells the reactor when fibers rest, until the workers are gone.
  tasking::ForeignWaits foreign;
  base::Mutex failures;  ///< Guards `TaskExtra::child_failures` of all tasks, where GUARDED_BY cannot name it.
  tasking::StopRequests stops;
  tasking::Selections selections;
  tasking::Throttle throttle;
  tasking::StuckWatch stuck;
  tasking::LongWaitLooks long_wait_looks;
  std::atomic<bool> stopping{false};
  std::atomic<bool> abandoned{false};          ///< The process ends in one of the tasks: no other begins or goes on.
  std::atomic<bool> forked{false};             ///< This is the child of a fork: there are no workers.
  std::atomic<std::uint32_t> cancel_epoch{0};  ///< Tasks of earlier epochs are cancelled: see Runtime::cancel.
  /// Threads of others that are handing a task over. They write it, and workers read the members before it for each task.
  alignas(64) std::atomic<unsigned> visitors{0};
  alignas(64) std::vector<tasking::ServiceEntry> services;
  tasking::Service* parking = nullptr;
  bool barrier_works = false;  ///< See base/process_barrier.hpp.
  std::vector<std::unique_ptr<tasking::Worker>> workers;
  tasking::IdleWorkers idle;
  std::unique_ptr<tasking::Executors> executors;
  tasking::PolledServices polled;
  std::shared_ptr<tasking::SourceRegistry> sources = std::make_shared<tasking::SourceRegistry>();

  /// Operations of services that are in flight.
  std::size_t in_flight() const noexcept;
  /// Those of them that other processes end.
  std::size_t in_flight_elsewhere() const noexcept;
  /// After a stuck report: whether the tasks that were told of it end within a moment.
  bool drains() noexcept;
  void stop_workers() noexcept;
  /// Returns when no thread is on its way out of a wait for a task, all of which have completed.
  void see_waiters_off() noexcept;
  /// Between tasks, on threads of the runtime: does not return when the process is about to end.
  void rest_if_abandoned() const noexcept {
    if (abandoned.load(std::memory_order_relaxed)) [[unlikely]] {
      rest_for_ever();
    }
  }
  [[noreturn]] static void rest_for_ever() noexcept;
  /// @throws std::logic_error in the child of a fork.
  void require_usable() const;
};

}  // namespace detail
}  // namespace dovetail
