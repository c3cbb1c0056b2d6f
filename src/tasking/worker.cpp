#include "tasking/worker.hpp"

#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "base/topology.hpp"
#include "tasking/core.hpp"
#include "tasking/futex.hpp"
#include "tasking/lifecycle.hpp"
#include "tasking/pause.hpp"
#include "tasking/service.hpp"
#include "tasking/stack_overflow.hpp"
#include "tasking/thread_identity.hpp"
#include "trace/trace.hpp"

namespace dovetail::tasking {
namespace {

// Completed children of one parent that are told together.
constexpr std::uint32_t most_counted_children = 256;
// Short slices after which prepared requests are handed over even if more may come.
constexpr unsigned most_slices_before_flush = 64;

constexpr std::uint32_t runs_between_measurements = 16;

// Tasks with short slices that a worker runs by itself, one after the other.
constexpr std::int64_t most_kept_to_itself = 256;

void arrive_nowhere(void*) {}

}  // namespace

Worker::Worker(RuntimeCore& core, unsigned index)
    : core_(core), index_(index), random_(index * 2654435761U + 1), fibers_(core.fibers) {}

Worker::~Worker() = default;

void Worker::start(int processor) {
  for (auto& other : core_.workers) {
    if (other.get() != this) {
      victims_.push_back({other.get()});
    }
  }
  thread_ = std::thread(&Worker::thread_main, this, processor);
}

void Worker::join() {
  if (thread_.joinable()) {
    thread_.join();
  }
}

void Worker::thread_main(Worker* self, int processor) {
  pthread_setname_np(pthread_self(), ("dovetail-" + std::to_string(self->index_)).c_str());
  const AlternateStack overflow_stack;
  if (processor >= 0) {
    base::bind_to_processor(static_cast<unsigned>(processor));
  }
  context() = {&self->core_, self, nullptr, nullptr};
  note_thread();
  trace::thread_name(trace::ThreadKind::worker, self->index_);
  for (auto& entry : self->core_.services) {
    entry.service->thread_started(static_cast<int>(self->index_));
  }
  fiber::Fiber thread_fiber;
  self->thread_fiber_ = &thread_fiber;
  self->fiber_ = self->fibers_.acquire();
  thread_fiber.switch_to(*self->fiber_, &arrive_nowhere, nullptr);
  for (auto& entry : self->core_.services) {
    entry.service->thread_stopping(static_cast<int>(self->index_));
  }
  context() = {};
}

// What every worker fiber runs. It keeps nothing on its stack: a fiber that rests here may go on as another worker.
void Worker::fiber_main(void*) {
  for (;;) {
    context().worker->run_loop();
  }
}

fiber::Fiber::Entry worker_fiber_entry() noexcept { return &Worker::fiber_main; }

void Worker::run_loop() {
  Task* task = find_task();
  if (task == nullptr) {
    fiber::Fiber* const last = fiber_;
    struct Rest {
      Worker* worker;
      fiber::Fiber* fiber;
    } rest{this, last};
    last->switch_to(
        *thread_fiber_,
        [](void* argument) {
          const Rest arrival = *static_cast<Rest*>(argument);
          arrival.worker->fibers_.release(arrival.fiber);
        },
        &rest);
    return;
  }
  if (operations_) [[unlikely]] {
    before_slice(task, base::ticks());
  }
  if (task->fiber != nullptr) {
    resume(task);
  } else {
    run(task);
  }
}

void Worker::run(Task* task) {
  if (counted_children_ != 0 && task->parent != counted_parent_) {
    flush_children();
  }
  if (++runs_ % runs_between_measurements == 0) [[unlikely]] {
    body_begin_ = base::ticks();
  }
  run_body(task);
}

void Worker::resume(Task* task) {
  flush_children();
  struct Rest {
    Worker* worker;
    fiber::Fiber* fiber;
  } rest{this, fiber_};
  fiber::Fiber* const mine = fiber_;
  fiber_ = std::exchange(task->fiber, nullptr);
  mine->switch_to(
      *fiber_,
      [](void* argument) {
        const Rest arrival = *static_cast<Rest*>(argument);
        arrival.worker->fibers_.release(arrival.fiber);
      },
      &rest);
}

// The fiber of the task that this worker would run next, if that is paused too: going there at once saves the way through the
// scheduler and one of two switches. Null now and then all the same, so that what the scheduler sees to is not starved.
fiber::Fiber* Worker::next_paused_fiber() {
  if ((tick_ + 1) % 8 == 0 || theft_ != nullptr || !tied_.empty() || !core_.urgent.empty() || !core_.resumed.empty()) {
    return nullptr;
  }
  if (successor_ == nullptr) {
    successor_ = deque_.pop();
  }
  if (successor_ == nullptr || successor_->fiber == nullptr || gives_way(successor_)) {
    return nullptr;
  }
  ++tick_;
  Task* const next = std::exchange(successor_, nullptr);
  // One look at the clock for the end of one slice and the beginning of the next: it takes as long as a good part of the switch.
  const std::uint64_t now = operations_ || slice_start_ != 0 ? base::ticks() : 0;
  if (slice_start_ != 0) {
    after_slice(now);
  }
  if (operations_) {
    before_slice(next, now);
  }
  return std::exchange(next->fiber, nullptr);
}

void Worker::leave_fiber(Task* paused) {
  body_begin_ = 0;  // it may go on elsewhere
  flush_children();
  fiber::Fiber* next = nullptr;
  try {
    next = next_paused_fiber();
    if (next == nullptr) {
      next = fibers_.acquire();
    }
  } catch (const std::exception& error) {
    // Somebody is going to wake the task: it cannot be told. Wait for that on this stack, and keep completions coming.
    std::fprintf(stderr, "dovetail: worker %u waits instead of switching: %s\n", index_, error.what());
    if (yielding_ == paused) {
      yielding_ = nullptr;
      return;
    }
    run_others_until_woken(paused);
    return;
  }
  fiber::Fiber* const mine = fiber_;
  fiber_ = next;
  paused->fiber = mine;
  context().task = nullptr;
  mine->switch_to(
      *next,
      [](void* argument) {
        auto* task = static_cast<Task*>(argument);
        Worker* const worker = context().worker;
        if (worker->yielding_ == task) {
          worker->yielding_ = nullptr;
          if (task->tied) {
            worker->push_tied(task);
          } else {
            worker->core_.shared.push(task);
          }
          return;
        }
        PauseState expected = PauseState::running;
        // From here on another worker may resume the task.
        if (!task->pause_state.compare_exchange_strong(expected, PauseState::paused, std::memory_order_acq_rel)) {
          schedule(task);
        }
      },
      paused);
}

// The paused task keeps this stack, and whatever runs here meanwhile lies on top of it: that can wait for the paused task in
// vain, but doing nothing would be worse.
void Worker::run_others_until_woken(Task* paused) {
  while (paused->pause_state.load(std::memory_order_acquire) != PauseState::woken) {
    flush_services();
    poll_services(true);
    core_.reactor.run_due();
    Task* task = take_local();
    if (task == nullptr) {
      task = take_shared();
    }
    if (task == nullptr) {
      task = take_returned();
    }
    if (task == nullptr) {
      std::this_thread::yield();
    } else if (task->fiber != nullptr || !has_stack_for_another()) {
      core_.shared.push(task);
      std::this_thread::yield();
    } else {
      run(task);
      flush_children();
    }
  }
}

std::size_t Worker::stack_left() const noexcept {
  const auto* here = static_cast<const std::byte*>(__builtin_frame_address(0));
  return static_cast<std::size_t>(here - fiber_->stack().lowest);
}

// Whether to wake somebody for a task whose slice will be short would take longer than to run it here, after what else is at hand.
bool Worker::keeps_to_itself() const noexcept {
  // Negative when it has just woken.
  const auto awake = static_cast<std::int64_t>(last_slice_.load(std::memory_order_relaxed) - occupancy_.woke());
  return deque_.size() <= most_kept_to_itself && awake < most_awake_alone_ &&
         (slice_start_ == 0 || predictor_.is_surely_short(slice_kind_));
}

void Worker::push(Task* task) {
  // Before it is to be had: then it may be stolen, and gone.
  const bool surely_short = operations_ && predictor_.is_surely_short(slice_of(task));
  deque_.push(task);
  if (surely_short) [[unlikely]] {
    short_queued_ = true;
    if (keeps_to_itself()) {
      kept_to_itself_.store(true, std::memory_order_relaxed);
      return;
    }
  }
  if (polling_) {
    announce_after_poll_ = true;  // for all of them together
    return;
  }
  announce();
}

// Tells an idle worker, if one may be, of what this one has pushed.
void Worker::announce() {
  if (kept_to_itself_.load(std::memory_order_relaxed)) {
    kept_to_itself_.store(false, std::memory_order_relaxed);  // whoever is told of one finds the others too
  }
  // The compiler must not look for idle workers first; the processor is kept from it by their process-wide barrier, or here.
  if (operations_) [[unlikely]] {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  } else {
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  const bool wanted = core_.barrier_works ? core_.idle.lacks_searcher() : core_.idle.lacks_searcher_from_outside();
  if (wanted) [[unlikely]] {
    wake_another();
  }
}

void Worker::wake_another() noexcept { core_.idle.wake_one(); }

void Worker::push_successor(Task* task) {
  if (successor_ == nullptr) {
    successor_ = task;
  } else {
    push(task);
  }
}

Task* Worker::take_local() {
  if (successor_ != nullptr) {
    return std::exchange(successor_, nullptr);
  }
  return deque_.pop();
}

void Worker::count_child(Task* parent) noexcept {
  if (parent != counted_parent_ || counted_children_ >= most_counted_children) {
    flush_children();
    counted_parent_ = parent;
    if (core_.throttle.holds_any()) {
      core_.throttle.release(core_);
    }
  }
  ++counted_children_;
}

void Worker::flush_children() noexcept {
  // Again and again: the last child may complete its parent, which then is counted as somebody's child.
  while (counted_children_ != 0) {
    const std::uint32_t count_of_children = std::exchange(counted_children_, 0);
    children_completed(std::exchange(counted_parent_, nullptr), count_of_children);
  }
}

void Worker::push_tied(Task* task) {
  tied_.push(task);
  if (context().worker != this) {
    unpark();
  }
}

Task* Worker::take_tied() {
  Task* task = nullptr;
  tied_.pop(&task, 1);
  return task;
}

void Worker::before_slice(Task* task, std::uint64_t now) {
  const SliceKind kind = slice_of(task);
  long_slice_ = !predictor_.is_short(kind);
  if (flush_requested_ && (long_slice_ || ++slices_since_flush_ >= most_slices_before_flush)) {
    flush_services();
    now = base::ticks();
  }
  if (long_slice_ && core_.parking != nullptr) {
    core_.parking->busy(index_, true);
    now = base::ticks();  // that may have woken somebody
  }
  if (long_slice_ && (kept_to_itself_.load(std::memory_order_relaxed) || !returned_.empty())) {
    kept_to_itself_.store(false, std::memory_order_relaxed);
    core_.idle.notify_from_outside();
    now = base::ticks();
  }
  slice_kind_ = kind;
  slice_start_ = now;
  last_slice_.store(now, std::memory_order_relaxed);
}

void Worker::after_slice(std::uint64_t now) {
  predictor_.observe(slice_kind_, now - slice_start_);
  slice_start_ = 0;
  if (long_slice_ && core_.parking != nullptr) {
    core_.parking->busy(index_, false);
  }
}

void Worker::flush_services() {
  flush_requested_ = false;
  slices_since_flush_ = 0;
  for (auto& entry : core_.services) {
    entry.service->flush(index_);
  }
}

bool Worker::poll_services(bool all) {
  unsigned delivered = 0;
  polling_ = true;
  for (auto& entry : core_.services) {
    delivered += entry.service->poll(index_, all ? PollScope::all : PollScope::own);
  }
  polling_ = false;
  if (std::exchange(announce_after_poll_, false)) {
    announce();
  }
  return delivered > 0;
}

}  // namespace dovetail::tasking
