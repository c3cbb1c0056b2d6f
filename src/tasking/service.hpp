// What a layer above implements to have its completions noticed by the workers. The scheduler knows nothing of what is
// being waited for.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "dovetail/detail/body.hpp"
#include "dovetail/options.hpp"

namespace dovetail::tasking {

/// Whose operations a poll should look at.
enum class PollScope {
  own,  ///< Those that the calling worker started.
  all,  ///< Those of all workers: asked by a worker that has nothing else to do.
};

/// A source of completions that belongs to one runtime.
class Service {
 public:
  virtual ~Service() = default;

  /// A worker or executor thread begins or ends. Called on that thread. `worker` is -1 on executors.
  virtual void thread_started(int /*worker*/) {}
  virtual void thread_stopping(int /*worker*/) {}

  /// In place of a worker's number: the caller is the thread that keeps time.
  static constexpr unsigned no_worker = ~0U;

  /// Looks for completions and delivers them (`wake`, `fulfill_event`). Called by compute workers between slices, outside
  /// of any task, and by the thread that keeps time, also at once; must not block. Returns how many were delivered.
  virtual unsigned poll(unsigned worker, PollScope scope) = 0;

  /// @name Being polled
  /// A service that does not put workers to sleep (below) is polled by the clock and when its descriptor is ready. That holds while something
  /// is in flight, even if all workers compute. For the service that puts workers to sleep, a ready descriptor wakes an idle worker, which
  /// polls.
  /// @{
  /// The longest time between two polls. max(): never by the clock.
  virtual std::chrono::nanoseconds poll_interval() const noexcept { return std::chrono::microseconds(500); }
  /// A descriptor that becomes readable when there is something to poll for, the service's own; -1: none.
  virtual int descriptor() const noexcept { return -1; }
  /// Whether the service is not looked at before it calls `begin_polling`, so that programs that never use it do not pay for it.
  virtual bool on_demand() const noexcept { return false; }
  /// @}

  /// @name Lingering
  /// Sleeping and being woken may take longer than what is waited for. Then one idle worker goes on polling for a while before it sleeps.
  /// @{
  /// For how long. Asked by a worker that is about to sleep. 0: not at all.
  virtual std::chrono::nanoseconds linger() noexcept { return {}; }
  /// A worker has lingered for this service; `found`: until it had delivered something. Not called where other work ended it.
  virtual void lingered(bool /*found*/) noexcept {}
  /// Whether a poll since the last call has brought something on, though nothing has ended: then it is worth going on.
  virtual bool is_moving() noexcept { return false; }
  /// Asked by each worker before it sleeps. From then on the service's descriptor tells what comes. @returns false if something has come that a
  /// poll would find: the worker polls instead.
  virtual bool may_sleep() noexcept { return true; }
  /// @}

  /// Hands over what the calling worker has prepared but not yet submitted. Called before the worker runs something that may
  /// take long, and before it parks, if `request_flush` was called on that worker. Not before it parks in this very service: then
  /// `park` does it.
  virtual void flush(unsigned worker) = 0;

  /// Operations that have been started and not delivered, over all workers. For the stuck report and the decision to park.
  virtual std::size_t in_flight() const noexcept = 0;
  /// Whether any of those was begun by that worker, as far as it delivers them itself. Asked by the worker.
  virtual bool has_in_flight(unsigned /*worker*/) const noexcept { return in_flight() > 0; }
  /// Whether what is in flight ends when other processes do something, as messages do. Tasks that wait for it are no work that spawning could
  /// run ahead of.
  virtual bool ends_elsewhere() const noexcept { return false; }

  /// @name One thread
  /// A service that only one thread of the program may poll, and none of the runtime's, lives on that thread. It polls while it waits for
  /// tasks, and `tell_resident` wakes it.
  /// @{
  /// Whether the service lives on the calling thread.
  virtual bool lives_here() const noexcept { return false; }
  /// When that thread polls next; max(): not before it is told. Asked by it, before each sleep.
  virtual std::chrono::steady_clock::time_point next_poll() noexcept {
    return std::chrono::steady_clock::time_point::max();
  }
  /// @}

  /// @name Sleeping
  /// At most one service of a runtime parks workers (the one whose completions can wake a sleeping thread); the first that
  /// returns true is chosen when the runtime starts.
  /// @{
  virtual bool parks() const noexcept { return false; }
  /// Sleeps in the kernel until a completion arrives, `unpark` is called for this worker, or the deadline has passed (time_point::max(): none).
  /// An `unpark` since the last return of `park` counts. May return early. Delivers nothing: `poll` follows.
  virtual void park(unsigned /*worker*/, std::chrono::steady_clock::time_point /*deadline*/) {}
  /// Ends the current or next `park` of that worker. From any thread.
  virtual void unpark(unsigned /*worker*/) noexcept {}
  /// The worker is about to run a slice that may take long, or is back from it. Meanwhile completions of its own operations are for other
  /// workers, and make `descriptor` ready.
  virtual void busy(unsigned /*worker*/, bool /*busy*/) noexcept {}
  /// Takes workers to be busy that have had operations in flight since the last call and have not polled. Returns whether there were any.
  /// Called by the thread that keeps time, now and then.
  virtual bool look_after() noexcept { return false; }
  /// @}
};

/// Makes a service for a runtime that starts. `options` are complete (environment applied). May throw std::invalid_argument.
using ServiceFactory =
    std::function<std::unique_ptr<Service>(detail::RuntimeCore& core, const Options& options, unsigned workers)>;

/// Registers a kind of service for every runtime that starts afterwards. Called from a static initialiser of the room that
/// implements it. `key` identifies the kind.
bool register_service(const void* key, ServiceFactory factory);
/// The service of that kind in a runtime, or null.
Service* find_service(detail::RuntimeCore& core, const void* key) noexcept;

/// Has `hook` called after each request for a cancellation, so that operations which tasks wait for may end early. It is called from any
/// thread, once `cancel_requested` can see the request. It must not use the runtime that it is given, which may be gone: the pointer only
/// identifies it. At most one hook; called from a static initialiser.
bool register_cancel_hook(void (*hook)(const detail::RuntimeCore* core) noexcept);

/// Something is in flight of a service that is polled on demand. Called when its `in_flight` begins to differ from 0, from any thread.
void begin_polling(detail::RuntimeCore& core) noexcept;

/// The service that lives on the calling thread, or null.
Service* find_resident(detail::RuntimeCore& core) noexcept;
/// A service that lives on a thread of the program has something to do: if that thread waits for tasks, it polls. Any thread.
void tell_resident(detail::RuntimeCore& core) noexcept;

/// Tells the scheduler that the calling compute worker has prepared operations that wait for `Service::flush`.
void request_flush() noexcept;

/// A piece of blocking work, run once on an I/O executor thread. Owned by the poster; it must live until it runs.
struct BlockingWork {
  BlockingWork* next = nullptr;
  void (*run)(BlockingWork* self) = nullptr;
};
/// Runs the work on an executor thread of the runtime; starts one if all are busy and the limit allows, else queues it.
void post_blocking(detail::RuntimeCore& core, BlockingWork* work);
/// Whether the runtime waits only for what its executors have begun, and then is gone: long work that no task waits for should end.
bool is_ending(const detail::RuntimeCore& core) noexcept;

}  // namespace dovetail::tasking
