#include "tasking/worker.hpp"

#include "tasking/context.hpp"
#include "tasking/core.hpp"
#include "tasking/service.hpp"

namespace dovetail::tasking {
namespace {

// Tasks with short slices that a worker runs by itself, one after the other.
constexpr std::int64_t most_kept_to_itself = 256;
// A worker that has not slept for longer has more than one can do. A crowd of operations alone may take half of it.
constexpr std::uint64_t most_microseconds_awake_alone = 1000;

}  // namespace

Worker::Worker(RuntimeCore& of, unsigned number)
    : Peer(of.totals, of.parking, number), core(of), index(number), fibers(of.fibers), victims(number) {}

Worker::~Worker() = default;

// Whether waking a worker for a task with a short slice would take longer than running it here, after what else is at hand.
bool Worker::keeps_to_itself() const noexcept {
  if (!slices.runs_short()) {
    return false;
  }
  if (ready.size() == 1) {
    return true;  // it is the next one, however long this worker has been awake
  }
  // Negative when it has just woken.
  const auto awake_for = static_cast<std::int64_t>(kept.slice_began() - occupancy.woke());
  return ready.size() <= most_kept_to_itself &&
         awake_for < static_cast<std::int64_t>(most_microseconds_awake_alone * base::ticks_per_microsecond());
}

void Worker::push(Task* task) {
  // Before it is to be had: then it may be stolen, and gone.
  const bool surely_short = operations.any && slices.is_surely_short(task);
  ready.push(task);
  if (surely_short) [[unlikely]] {
    slices.note_short();
    if (keeps_to_itself()) {
      kept.keep();
      return;
    }
  }
  tell_idle_workers();
}

void Worker::end_slice(std::uint64_t now) {
  slices.end(now);
  if (operations.long_slice && core.parking != nullptr) {
    core.parking->busy(index, false);
  }
}

bool Worker::poll_services(PollScope scope) {
  unsigned delivered = 0;
  for (auto& entry : core.services) {
    delivered += entry.service->poll(index, scope);
  }
  return delivered > 0;
}

void Worker::tell_idle_workers() noexcept {
  kept.clear();  // a worker that is told of one finds the others too
  // The compiler must not look for idle workers first; the processor is kept from it by their process-wide barrier, or here.
  if (operations.any || !core.barrier_works) [[unlikely]] {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  } else {
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  if (core.idle.lacks_searcher()) [[unlikely]] {
    const std::uint64_t before = slices.is_measuring() ? base::ticks() : 0;
    core.idle.wake_one();
    if (before != 0) {
      slices.leave_out(base::ticks() - before);  // else a short slice would be taken for long, and wake a worker again
    }
  }
}

void Worker::push_next(Task* task) {
  if (!ready.push_next(task)) {
    push(task);
  }
}

bool Worker::give_back_home(Task* task) noexcept {
  if (task->home_worker >= core.workers.size()) {
    return false;
  }
  // A paused task has its stack here or there; but a spawner that was held has its tables at home.
  if (task->fiber != nullptr && task->wait_reason != WaitReason::throttle) {
    return false;
  }
  Victims::Victim& home = victims.of_worker(task->home_worker);
  if (home.peer->is_out_of_work()) {
    home.looked_at = 0;  // it has some from now on
  }
  if (!Victims::prefers_its_own(home, base::ticks())) {
    return false;
  }
  home.peer->give(task);
  return true;
}

void Worker::push_tied(Task* task) {
  ready.give_tied(task);
  if (context().worker != this) {
    sleeper.unpark();
  }
}

// A worker with operations sleeps and is woken often. The process-wide barrier of each sleep would then cost more than a fence in
// each push. It says that it uses fences: a worker that falls asleep needs the barrier only if another one pushes without a fence.
void Worker::begin_operations(bool begin) noexcept {
  if (operations.any == begin) {
    return;
  }
  operations.any = begin;
  has_operations.store(begin, std::memory_order_relaxed);
  // Tasks that were pushed before are visible to a thread that sees this; those pushed from now on are ordered by a fence. And
  // back: the change comes before the next push, whose look for idle workers then sees one that has seen the old number.
  if (begin) {
    core.idle.pushes_with_fence();
    // Either this sees the worker that has entered the list of idle ones, or that one, which looks afterwards, the first queue.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (core.idle.count() > 0) {
      core.polled.operations_begin();
    }
  } else {
    core.idle.pushes_without_fence();
  }
}

void Worker::flush_services() {
  operations.prepared = false;
  operations.slices_since_flush = 0;
  for (auto& entry : core.services) {
    entry.service->flush(index);
  }
}

std::size_t Worker::stack_left() const noexcept {
  const auto* here = static_cast<const std::byte*>(__builtin_frame_address(0));
  return static_cast<std::size_t>(here - fibers.current->stack().lowest);
}

}  // namespace dovetail::tasking
