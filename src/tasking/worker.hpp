// One compute worker: its state. Its work is in running.hpp (its thread, bodies, fibers), search.hpp, stealing.hpp, little_work.hpp
// and sleeping.hpp.
#pragma once

#include <cstdint>
#include <thread>

#include "fiber/fiber.hpp"
#include "tasking/fiber_cache.hpp"
#include "tasking/peer.hpp"
#include "tasking/service.hpp"
#include "tasking/slices.hpp"
#include "tasking/turns.hpp"
#include "tasking/victims.hpp"

namespace dovetail::tasking {

using detail::RuntimeCore;

/// Children of one parent that this worker completed and has not told the parent of, so that they are told together.
struct CompletedChildren {
  Task* parent = nullptr;
  std::uint32_t count = 0;

  std::uint32_t of(const Task* asked) const noexcept { return asked == parent ? count : 0; }
};

/// Operations of services that this worker has begun.
struct Operations {
  bool any = false;       ///< Some may be in flight.
  bool prepared = false;  ///< Some wait for `Service::flush`.
  unsigned slices_since_flush = 0;
  bool long_slice = false;  ///< The slice that runs, or ran last, was expected to be long.
};

/// The stacks that a worker uses.
struct WorkerFibers {
  explicit WorkerFibers(FiberPool& pool) : resting(pool) {}

  fiber::Fiber* first = nullptr;  ///< Until the thread runs on it.
  fiber::Fiber* current = nullptr;
  fiber::Fiber* of_thread = nullptr;
  FiberCache resting;
  Task* yielding = nullptr;  ///< The task that is about to leave its fiber wants to be queued behind the others.
};

/// How its look for work goes.
struct Search {
  bool is_counted = false;        ///< As one that looks for work.
  bool declined = false;          ///< The last look found tasks that are better left where they are.
  bool fed_from_outside = false;  ///< The last tasks came from a thread that is not a worker.
  bool has_lingered = false;      ///< For what may come next, on the stack of the task that waits for it.
  bool sleep_was_none = false;    ///< The last sleep was over at once: it was the time of handing operations over.
};

/// Another worker that does this one's work, as long as there is little. See docs/design/stealing.md, "Little work".
struct Refuge {
  Peer* peer = nullptr;
  std::uint64_t went_at = 0;  ///< When this worker last handed tasks over, in ticks.

  bool has_time() const noexcept { return peer != nullptr && peer->is_out_of_work(); }
};

class Worker : public Peer {
 public:
  Worker(RuntimeCore& core, unsigned index);
  ~Worker();

  /// @name For this worker's own thread only
  /// @{
  /// Queues a ready task and sees to it that a worker runs it.
  void push(Task* task);
  /// Queues a task that became ready because another one completed: it runs next here, while its data are in the cache.
  void push_next(Task* task);
  /// Gives a task that became ready here back to the worker that made it, if that is quicker than running it here. The task's
  /// memory and the data it depends on are there. Returns whether it did.
  bool give_back(Task* task) noexcept { return task->home_worker != index && give_back_home(task); }
  /// Tells an idle worker, if one has to be woken, of what this one has pushed.
  void tell_idle_workers() noexcept;
  /// Says whether operations may be in flight.
  void begin_operations(bool begin) noexcept;
  /// Polls services, for all operations or for those that it began. Returns whether anything was delivered.
  bool poll_services(PollScope scope);
  /// A slice that was measured is over. Time in ticks.
  void end_slice(std::uint64_t now);
  /// Hands over what was prepared.
  void flush_services();
  /// Bytes of the stack that are left below the caller.
  std::size_t stack_left() const noexcept;
  /// Whether a body may be run on top of the caller: half of the stack must be left for it.
  bool has_stack_for_another() const noexcept { return 2 * stack_left() > fibers.current->stack().size; }
  /// @}

  /// Gives a tied task back to this worker, which it belongs to. Any thread.
  void push_tied(Task* task);
  /// Has this worker leave its resting fibers to the pool if it sleeps. Any thread.
  void leave_fibers() noexcept {
    if (fibers.resting.keeps_any()) {
      sleeper.unpark();
    }
  }

  RuntimeCore& core;
  const unsigned index;
  Turns turns;
  CompletedChildren children;
  Operations operations;
  Search search;
  Refuge refuge;
  Slices slices;
  WorkerFibers fibers;
  Victims victims;
  std::thread thread;

 private:
  bool give_back_home(Task* task) noexcept;
  bool keeps_to_itself() const noexcept;
};

}  // namespace dovetail::tasking
