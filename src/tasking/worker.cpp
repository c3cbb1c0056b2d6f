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
#include "tasking/thread_identity.hpp"
#include "trace/trace.hpp"

namespace dovetail::tasking {
namespace {

// While other workers run, work is likely to appear within this many looks; sleeping and being woken costs more.
constexpr unsigned looks_before_sleep = 24;
constexpr unsigned relaxes_between_looks = 16;
// Completed children of one parent that are told together.
constexpr std::uint32_t most_counted_children = 256;
// Short slices after which prepared requests are handed over even if more may come.
constexpr unsigned most_slices_before_flush = 64;

// Moving a task to another core costs about as much as this; a worker whose tasks take less is not helped by it.
constexpr std::uint64_t quick_tasks_per_microsecond = 2;
// How often such a worker is looked at, and one task taken from it all the same: it may be the root of many.
constexpr std::uint64_t microseconds_between_looks = 5;
constexpr unsigned relaxes_after_declining = 64;

constexpr std::uint32_t awake = 0;
constexpr std::uint32_t parked = 1;
constexpr std::uint32_t notified = 2;

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
    before_slice(task);
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
  run_body(task);
}

void Worker::run_inline(Task* task) {
  if (counted_children_ != 0 && task->parent != counted_parent_) {
    flush_children();
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

void Worker::leave_fiber(Task* paused) {
  flush_children();
  fiber::Fiber* next = nullptr;
  try {
    next = fibers_.acquire();
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
    core_.timers.run_due();
    Task* task = take_local();
    if (task == nullptr) {
      task = take_shared();
    }
    if (task == nullptr) {
      std::this_thread::yield();
    } else if (task->fiber != nullptr || stack_left() < 32 * 1024) {
      core_.shared.push(task);
      std::this_thread::yield();
    } else {
      run_inline(task);
      flush_children();
    }
  }
}

std::size_t Worker::stack_left() const noexcept {
  const auto* here = static_cast<const std::byte*>(__builtin_frame_address(0));
  return static_cast<std::size_t>(here - fiber_->stack().lowest);
}

void Worker::push(Task* task) {
  deque_.push(task);
  // The compiler must not look for idle workers first; the processor is kept from it by their process-wide barrier.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (core_.barrier_works) [[likely]] {
    core_.idle.notify();
  } else {
    core_.idle.notify_from_outside();
  }
}

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
  {
    std::lock_guard lock(tied_lock_);
    task->next = nullptr;
    if (first_tied_ == nullptr) {
      first_tied_ = task;
    } else {
      last_tied_->next = task;
    }
    last_tied_ = task;
    has_tied_.store(true, std::memory_order_seq_cst);
  }
  if (context().worker != this) {
    unpark();
  }
}

Task* Worker::take_tied() {
  if (!has_tied_.load(std::memory_order_relaxed)) {
    return nullptr;
  }
  std::lock_guard lock(tied_lock_);
  Task* task = first_tied_;
  if (task != nullptr) {
    first_tied_ = task->next;
  }
  has_tied_.store(first_tied_ != nullptr, std::memory_order_relaxed);
  return task;
}

void Worker::before_slice(Task* task) {
  const void* body = task->operations;
  long_slice_ = !predictor_.is_short(body);
  if (flush_requested_ && (long_slice_ || ++slices_since_flush_ >= most_slices_before_flush)) {
    flush_services();
  }
  if (long_slice_ && core_.parking != nullptr) {
    core_.parking->busy(index_, true);
  }
  slice_body_ = body;
  slice_start_ = base::ticks();
}

void Worker::after_slice() {
  predictor_.observe(slice_body_, base::ticks() - slice_start_);
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
  for (auto& entry : core_.services) {
    delivered += entry.service->poll(index_, all ? PollScope::all : PollScope::own);
  }
  return delivered > 0;
}

Task* Worker::take_shared() {
  // A share, so that the others find some too.
  const std::size_t share = core_.shared.size() / core_.workers.size() + 1;
  const std::size_t taken = core_.shared.pop(batch_.data(), std::min(share, batch_.size()));
  if (taken == 0) {
    return nullptr;
  }
  fed_from_outside_ = true;
  for (std::size_t i = taken - 1; i >= 1; --i) {
    push(batch_[i]);
  }
  return batch_[0];
}

// How many tasks to take from a worker at once. See docs/design/stealing.md.
std::size_t Worker::fair_share(Victim& victim) noexcept {
  const std::uint64_t now = base::ticks();
  const std::uint64_t patience = microseconds_between_looks * base::ticks_per_microsecond();
  const std::uint64_t elapsed = now - victim.looked_at;
  if (elapsed >= patience) {
    const std::uint64_t progress = victim.worker->count.made.load(std::memory_order_relaxed) +
                                   victim.worker->count.completed.load(std::memory_order_relaxed);
    victim.quick = victim.looked_at != 0 && (progress - victim.progress) * base::ticks_per_microsecond() >=
                                                quick_tasks_per_microsecond * elapsed;
    victim.progress = progress;
    victim.looked_at = now;
  }
  if (!victim.quick) {
    return Deque::largest_batch;
  }
  if (now - victim.robbed_at < patience) {
    return 0;
  }
  victim.robbed_at = now;
  return 1;
}

Task* Worker::steal() {
  declined_ = false;
  const std::size_t count_of_victims = victims_.size();
  if (count_of_victims == 0) {
    return nullptr;
  }
  random_ = random_ * 1664525U + 1013904223U;
  const std::size_t first = (random_ >> 16) % count_of_victims;
  for (std::size_t i = 0; i < count_of_victims; ++i) {
    Victim& victim = victims_[(first + i) % count_of_victims];
    if (victim.worker->deque_.size() <= 0) {
      continue;
    }
    const std::size_t share = fair_share(victim);
    if (share == 0) {
      declined_ = true;
      continue;
    }
    const std::size_t taken = victim.worker->deque_.steal(batch_.data(), share);
    if (taken > 0) {
      for (std::size_t k = taken - 1; k >= 1; --k) {
        __builtin_prefetch(batch_[k], 1);
        deque_.push(batch_[k]);
      }
      return batch_[0];
    }
  }
  return nullptr;
}

Task* Worker::find_task() {
  ++tick_;
  if (slice_start_ != 0) [[unlikely]] {
    after_slice();
  }
  if (operations_ && (long_slice_ || tick_ % 8 == 0)) [[unlikely]] {
    poll_services(false);
  }
  if (tick_ % 64 == 0) [[unlikely]] {
    core_.timers.run_due();
    if (Task* task = take_shared()) {
      return task;
    }
  }
  if (Task* task = take_tied()) [[unlikely]] {
    return task;
  }
  if (!core_.urgent.empty()) [[unlikely]] {
    if (Task* task = core_.urgent.pop()) {
      return task;
    }
  }
  if (Task* task = take_local()) {
    return task;
  }
  Task* task = look_everywhere();
  core_.stuck.activity();
  if (searching_) {
    searching_ = false;
    // Whoever brought work while this worker looked has woken nobody.
    if (core_.idle.end_search() && (deque_.size() > 0 || may_be_work())) {
      core_.idle.notify_from_outside();
    }
  }
  if (keeps_time_) {
    keeps_time_ = false;
    if (!core_.timers.empty()) {
      core_.idle.wake_one();  // somebody else has to
    }
  }
  return task;
}

Task* Worker::look_everywhere() {
  for (;;) {
    flush_children();
    if (Task* task = take_tied()) {
      return task;
    }
    if (Task* task = take_local()) {
      return task;
    }
    if (Task* task = core_.urgent.pop()) {
      return task;
    }
    if (Task* task = take_shared()) {
      return task;
    }
    if (operations_) {
      flush_services();
      if (poll_services(false)) {
        continue;
      }
    }
    if (core_.timers.run_due() > 0) {
      continue;
    }
    if (!searching_) {
      searching_ = true;
      core_.idle.begin_search();
    }
    if (Task* task = steal()) {
      return task;
    }
    if (Task* task = core_.deferred.pop()) {
      return task;
    }
    if (core_.in_flight() > 0) {
      if (poll_services(true)) {
        continue;
      }
    } else {
      operations_ = false;
    }
    if (core_.throttle.holds_any() && core_.throttle.release_if_idle(core_)) {
      continue;
    }
    if (core_.stopping.load(std::memory_order_acquire)) {
      return nullptr;
    }
    if (declined_) {
      // Away from the memory that the other worker is writing.
      for (unsigned i = 0; i < relaxes_after_declining; ++i) {
        base::cpu_relax();
      }
      continue;
    }
    sleep();
  }
}

bool Worker::may_be_work() const noexcept {
  if (!core_.shared.empty() || !core_.urgent.empty() || !core_.deferred.empty() ||
      has_tied_.load(std::memory_order_seq_cst) || core_.stopping.load(std::memory_order_acquire)) {
    return true;
  }
  return std::any_of(victims_.begin(), victims_.end(),
                     [](const Victim& victim) { return victim.worker->deque_.size() > 0; });
}

void Worker::sleep() {
  // Only while somebody runs, or ran a moment ago, who may spawn: waiting for a disk is no reason to spin.
  if (fed_from_outside_ || core_.idle.count() + core_.idle.searching() < core_.workers.size()) {
    fed_from_outside_ = false;
    for (unsigned look = 0; look < looks_before_sleep; ++look) {
      if (may_be_work()) {
        return;
      }
      for (unsigned i = 0; i < relaxes_between_looks; ++i) {
        base::cpu_relax();
      }
    }
  }
  searching_ = false;
  core_.idle.end_search();
  core_.idle.enter(this);
  if (!victims_.empty()) {
    process_wide_barrier();
  }
  if (!may_be_work()) {
    const base::TimePoint timer = core_.timers.keep();
    keeps_time_ = timer != base::TimePoint::max();
    const base::TimePoint deadline = std::min({timer, core_.stuck.before_sleep(core_), core_.throttle.next_release()});
    trace::idle_begin();
    park(deadline);
    trace::idle_end();
    if (keeps_time_) {
      core_.timers.stop_keeping(timer);
    }
  }
  searching_ = !core_.idle.leave(this);
}

void Worker::park(base::TimePoint deadline) {
  if (core_.parking != nullptr) {
    core_.parking->park(index_, deadline);
    return;
  }
  std::uint32_t expected = awake;
  if (park_word_.compare_exchange_strong(expected, parked, std::memory_order_acq_rel)) {
    futex_wait(park_word_, parked, deadline);
  }
  park_word_.store(awake, std::memory_order_release);
}

void Worker::unpark() noexcept {
  if (core_.parking != nullptr) {
    core_.parking->unpark(index_);
  } else if (park_word_.exchange(notified, std::memory_order_acq_rel) == parked) {
    futex_wake(park_word_);
  }
}

}  // namespace dovetail::tasking
