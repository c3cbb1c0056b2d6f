// One compute worker: an operating-system thread that runs tasks on fibers. See docs/design/suspension.md.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "fiber/fiber.hpp"
#include "tasking/context.hpp"
#include "tasking/deque.hpp"
#include "tasking/fiber_cache.hpp"
#include "tasking/occupancy.hpp"
#include "tasking/slice_predictor.hpp"
#include "tasking/task.hpp"
#include "tasking/task_queue.hpp"
#include "tasking/throttle.hpp"

namespace dovetail::tasking {

class Worker {
 public:
  Worker(RuntimeCore& core, unsigned index);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void start(int processor);
  void join();

  RuntimeCore& core() const noexcept { return core_; }
  unsigned index() const noexcept { return index_; }
  Deque& deque() noexcept { return deque_; }

  /// @name For this worker's own thread only
  /// @{

  /// Queues a ready task and sees to it that somebody runs it.
  void push(Task* task);
  /// Queues a task that became ready because another one completed: it runs next here, while its data are in the cache.
  void push_successor(Task* task);
  /// Gives a task that became ready here back to the worker that made it, if that is quicker than running it here: the task's
  /// memory and the data it depends on are there. Returns whether it did.
  bool give_back(Task* task) noexcept { return task->home_worker != index_ && give_back_home(task); }
  /// Wakes one of the workers that are idle, if there are any; the time that takes is no part of the slice that runs.
  void wake_another() noexcept;
  /// Takes a task that `wait` may run on top of its caller. Null if there is none at hand.
  Task* take_local();
  /// A body is about to run one of its children on top of it. Whether it must not this time, so that others get their turn.
  bool gives_turn() noexcept;
  /// Leaves the paused task's fiber for another one that runs the scheduler.
  void leave_fiber(Task* paused);
  /// Whether a body may be run on top of the caller: half of the stack must be left for it.
  bool has_stack_for_another() const noexcept { return 2 * stack_left() > fiber_->stack().size; }
  /// Counts a completed child; told to the parent later, together with its siblings.
  void count_child(Task* parent) noexcept;
  void flush_children() noexcept;
  /// Children of `parent` that have been counted and not told.
  std::uint32_t counted_children(const Task* parent) const noexcept {
    return counted_parent_ == parent ? counted_children_ : 0;
  }
  void forget_counted_children() noexcept { counted_children_ = 0; }
  /// Runs a task that never ran before, on the current stack.
  void run(Task* task);
  /// The body that runs has returned.
  void body_returned() noexcept {
    if (body_begin_ != 0) [[unlikely]] {
      measure_body();
    }
  }
  /// The current task is about to pause and wants to be queued behind the others.
  void yielding(Task* task) noexcept { yielding_ = task; }
  void request_flush() noexcept {
    flush_requested_ = true;
    begin_operations(true);
  }
  /// @}

  /// Gives a tied task back to the worker it belongs to. Any thread.
  void push_tied(Task* task);
  /// Ends the sleep of this worker. Any thread.
  void unpark() noexcept;
  /// Has this worker leave its resting fibers to the pool if it sleeps. Any thread.
  void leave_fibers() noexcept {
    if (fibers_.keeps_any()) {
      unpark();
    }
  }
  /// The stack that the worker's thread runs on; for that thread alone.
  const fiber::Stack& stack() const noexcept { return fiber_->stack(); }

  alignas(64) TaskCount count;
  /// Ticks that the bodies which this worker runs take, on an average of the last ones. Long until it is known.
  std::atomic<std::uint32_t> usual_body_{1U << 20};
  /// Whether somebody has already woken this idle worker. Guarded by IdleWorkers.
  bool is_idle = false;

 private:
  friend fiber::Fiber::Entry worker_fiber_entry() noexcept;
  static void fiber_main(void* unused);
  static void thread_main(Worker* worker, int processor);
  void run_loop();
  Task* find_task();
  Task* look_everywhere();
  Task* steal();
  Task* take_shared();
  Task* take_tied();
  Task* take_returned();
  Task* take_resumed();
  Task* take_in_turn();
  bool turn_is_due() const noexcept { return static_cast<std::int32_t>(tick_ - next_turn_) >= 0; }
  void plan_turn() noexcept;
  bool give_back_home(Task* task) noexcept;
  Task* first_of_batch(std::size_t taken);
  bool gives_way(const Task* task) const noexcept;
  Task* short_before(Task* long_task);
  std::size_t stack_left() const noexcept;
  bool poll_services(bool all);
  void announce();
  void flush_services();
  void flush_services_that_do_not_park();
  bool may_be_work() const noexcept;
  bool keeps_to_itself() const noexcept;
  static SliceKind slice_of(const Task* task) noexcept { return {task->operations, task->fiber != nullptr}; }
  Worker* find_refuge(std::uint64_t now) const noexcept;
  bool refuge_has_time() const noexcept {
    return refuge_ != nullptr && refuge_->out_of_work_.load(std::memory_order_relaxed) != 0;
  }
  bool retreat() noexcept;
  bool is_better_left_alone(const Worker& other, std::uint64_t now) const noexcept;
  void sleep();
  void park(base::TimePoint deadline);
  void resume(Task* task);
  fiber::Fiber* next_paused_fiber();
  void run_others_until_woken(Task* paused);
  void begin_operations(bool begin) noexcept;
  bool others_order_their_pushes() const noexcept;
  void before_slice(Task* task, std::uint64_t now);  ///< `now` in ticks.
  void after_slice(std::uint64_t now);

  RuntimeCore& core_;
  const unsigned index_;
  Deque deque_;
  Task* successor_ = nullptr;
  Task* yielding_ = nullptr;
  Task* counted_parent_ = nullptr;
  std::uint32_t counted_children_ = 0;
  std::uint32_t tick_ = 0;
  std::uint32_t next_turn_ = 0;     ///< The tick at which a task is taken in turn.
  std::uint32_t turn_ = 0;          ///< Which queue has that turn.
  std::uint32_t turns_on_top_ = 0;  ///< That came while a body ran its children, and were not given.
  std::uint32_t random_;
  bool fed_from_outside_ = false;            ///< The last tasks came from the shared queue.
  bool searching_ = false;                   ///< Counted as one that looks for work.
  bool operations_ = false;                  ///< This worker has started operations that may be in flight.
  std::atomic<bool> orders_pushes_{false};   ///< As `operations_`, for others: see `begin_operations`.
  bool ends_at_once_ = false;                ///< What this worker hands over, it seems.
  bool flush_requested_ = false;             ///< Some of them are prepared and not handed over.
  bool long_slice_ = false;                  ///< The slice that runs, or ran last, was expected to be long.
  std::atomic<bool> kept_to_itself_{false};  ///< Tasks were queued that nobody was told of.
  bool short_queued_ = false;                ///< Perhaps there is a task in the deque whose slice will be short.
  unsigned slices_since_flush_ = 0;
  bool polling_ = false;
  bool announce_after_poll_ = false;  ///< Tasks were pushed in a poll.
  std::uint64_t slice_start_ = 0;     ///< In ticks; 0: not measured.
  SliceKind slice_kind_;
  std::atomic<std::uint64_t> last_slice_{0};  ///< When it began, in ticks; only while there are operations.
  SlicePredictor predictor_;
  Occupancy occupancy_;
  /// In ticks. Whoever has not slept for longer has more than one can do; a crowd of requests alone may take half of it.
  const std::int64_t most_awake_alone_ = static_cast<std::int64_t>(1000 * base::ticks_per_microsecond());
  Worker* refuge_ = nullptr;        ///< Does this worker's work, as long as there is little.
  std::uint64_t retreated_at_ = 0;  ///< In ticks.
  fiber::Fiber* fiber_ = nullptr;   ///< The one that runs.
  fiber::Fiber* thread_fiber_ = nullptr;
  FiberCache fibers_;
  std::thread thread_;
  SharedQueue tied_;      ///< Woken tasks that may go on nowhere else.
  SharedQueue returned_;  ///< Given back by others. They look here too, before they sleep.
  // What this worker knows of another one that it may steal from.
  struct Victim {
    Worker* worker;
    std::uint64_t progress = 0;    ///< Tasks made and completed when last looked at.
    std::uint64_t looked_at = 0;   ///< In ticks.
    std::uint64_t robbed_at = 0;   ///< In ticks.
    std::uint64_t patience = 0;    ///< Least time between two thefts while it prefers its own, in ticks.
    bool prefers_its_own = false;  ///< When last looked at.
  };
  static bool prefers_its_own(Victim& victim, std::uint64_t now) noexcept;
  std::size_t fair_share(Victim& victim, std::uint64_t now) noexcept;
  void judge_theft() noexcept;
  void measure_body() noexcept;
  /// Any thread. Not so in a poll that brings some.
  bool has_no_work() const noexcept { return out_of_work_.load(std::memory_order_relaxed) != 0 && deque_.size() <= 0; }
  std::uint64_t body_begin_ = 0;  ///< Of the body that runs, in ticks; 0: it is not measured.
  std::uint32_t runs_ = 0;        ///< Of bodies.
  Victim* theft_ = nullptr;  ///< Whom the task that runs was taken from, while it is not known what that was worth.
  std::vector<Victim> victims_;
  bool declined_ = false;  ///< The last look found tasks that are better left where they are.
  std::array<Task*, Deque::largest_batch> batch_;
  alignas(64) std::atomic<std::uint32_t> park_word_{0};
  std::atomic<std::uint32_t> out_of_work_{0};  ///< 1: it looks for work elsewhere, or sleeps.
};

/// What fibers of workers run.
fiber::Fiber::Entry worker_fiber_entry() noexcept;

}  // namespace dovetail::tasking
