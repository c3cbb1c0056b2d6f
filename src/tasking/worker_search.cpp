// Where a worker finds its next task. See docs/design/stealing.md.
#include <algorithm>
#include <utility>

#include "tasking/context.hpp"
#include "tasking/core.hpp"
#include "tasking/service.hpp"
#include "tasking/worker.hpp"

namespace dovetail::tasking {
namespace {

// Bodies that are over sooner than this had better be left where their tasks were made.
constexpr std::uint64_t nanoseconds_of_a_small_body = 400;
// While they are small one is taken all the same now and then, because it may be the root of many: less and less often, as long as it
// keeps the thief for less than the least of these times.
constexpr std::uint64_t least_microseconds_between_thefts = 5;
constexpr std::uint64_t most_microseconds_between_thefts = 160;
// A worker with fewer of them may be on a chain, where each makes the next one ready: without its task it could do nothing.
constexpr std::int64_t least_of_small_tasks = 4;
// A worker that makes or completes fewer than one task in this time has other things to do, and is helped in any case.
constexpr std::uint64_t microseconds_of_a_step = 4;
constexpr std::uint64_t microseconds_between_looks = 20;
constexpr std::uint64_t microseconds_of_an_old_look = 200;
constexpr unsigned relaxes_after_declining = 64;
// Of so many tasks that a worker runs, one is taken in turn from the queues that would else come last: fewer where bodies are so long
// that it does not show.
constexpr std::uint32_t turn_period_of_small_bodies = 64;
constexpr std::uint32_t turn_period_of_long_bodies = 8;
constexpr std::uint64_t nanoseconds_of_a_long_body = 1000;
// A body that waits for its children runs them on top of it for so many turns before it lets the scheduler have a look.
constexpr std::uint32_t most_turns_on_top = 16;
// Behind so many tasks with long slices a short one is looked for.
constexpr std::size_t most_passed = 16;

}  // namespace

// Takes over what was put into the batch: one to run, the others into the deque.
Task* Worker::first_of_batch(std::size_t taken) {
  if (taken == 0) {
    return nullptr;
  }
  for (std::size_t i = taken - 1; i >= 1; --i) {
    push(batch_[i]);
  }
  return batch_[0];
}

Task* Worker::take_shared() {
  // A share, so that the others find some too.
  const std::size_t share = core_.shared.size() / core_.workers.size() + 1;
  const std::size_t taken = core_.shared.pop(batch_.data(), std::min(share, batch_.size()));
  if (taken > 0) {
    fed_from_outside_ = true;
  }
  return first_of_batch(taken);
}

// Whether the tasks of that worker are better left to it: they are small, and it gets on with them.
bool Worker::prefers_its_own(Victim& victim, std::uint64_t now) noexcept {
  const std::uint64_t ticks = base::ticks_per_microsecond();
  const std::uint64_t elapsed = now - victim.looked_at;
  if (elapsed >= microseconds_between_looks * ticks) {
    const Worker& worker = *victim.worker;
    const std::uint64_t progress =
        worker.count.made.load(std::memory_order_relaxed) + worker.count.completed.load(std::memory_order_relaxed);
    const bool small =
        1000 * std::uint64_t{worker.usual_body_.load(std::memory_order_relaxed)} < nanoseconds_of_a_small_body * ticks;
    // What it has done since a look long ago says nothing, nor what it does without work: it is given the benefit of the doubt until
    // the next one.
    const bool gets_on = elapsed >= microseconds_of_an_old_look * ticks || worker.has_no_work() ||
                         (progress - victim.progress) * microseconds_of_a_step * ticks >= elapsed;
    victim.prefers_its_own = small && gets_on;
    victim.progress = progress;
    victim.looked_at = now;
  }
  return victim.prefers_its_own;
}

// How many tasks to take from a worker at once.
std::size_t Worker::fair_share(Victim& victim, std::uint64_t now) noexcept {
  const bool only_one = prefers_its_own(victim, now);
  if (only_one && now - victim.robbed_at < victim.patience) {
    return 0;
  }
  victim.robbed_at = now;
  victim.patience = std::max(victim.patience, least_microseconds_between_thefts * base::ticks_per_microsecond());
  if (only_one) {
    return victim.worker->deque_.size() >= least_of_small_tasks ? 1 : 0;
  }
  return Deque::largest_batch;
}

// The first of the stolen tasks has ended, or paused.
void Worker::judge_theft() noexcept {
  Victim& victim = *std::exchange(theft_, nullptr);
  const std::uint64_t least = least_microseconds_between_thefts * base::ticks_per_microsecond();
  const std::uint64_t most = most_microseconds_between_thefts * base::ticks_per_microsecond();
  const bool worth_it = base::ticks() - victim.robbed_at >= least;
  victim.patience = std::clamp(worth_it ? 0 : 2 * victim.patience, least, most);
}

// One in so many, so that it costs nothing.
void Worker::measure_body() noexcept {
  constexpr std::uint64_t most_microseconds = 2;
  constexpr std::int64_t weight = 8;
  const std::uint64_t longest = most_microseconds * base::ticks_per_microsecond();
  // Cut off: one that took long by chance, by an interrupt say, does not make up for many.
  const auto body = static_cast<std::int64_t>(std::min(base::ticks() - std::exchange(body_begin_, 0), longest));
  const std::int64_t usual = usual_body_.load(std::memory_order_relaxed);
  usual_body_.store(static_cast<std::uint32_t>(usual + (body - usual) / weight), std::memory_order_relaxed);
}

bool Worker::give_back_home(Task* task) noexcept {
  if (task->home_worker >= core_.workers.size()) {
    return false;
  }
  // A paused task has its stack here or there; but a spawner that was held has its tables at home.
  if (task->fiber != nullptr && task->wait_reason != WaitReason::throttle) {
    return false;
  }
  Victim& home = victims_[task->home_worker - (task->home_worker > index_ ? 1 : 0)];
  if (home.worker->out_of_work_.load(std::memory_order_relaxed) != 0) {
    home.looked_at = 0;  // it has some from now on
  }
  if (!prefers_its_own(home, base::ticks())) {
    return false;
  }
  home.worker->returned_.push(task);
  // A read-modify-write: either this sees that the worker is about to sleep, or that one the task.
  if (home.worker->out_of_work_.fetch_add(0, std::memory_order_seq_cst) != 0) {
    home.worker->unpark();
  }
  return true;
}

Task* Worker::steal() {
  declined_ = false;
  const std::size_t count_of_victims = victims_.size();
  if (count_of_victims == 0) {
    return nullptr;
  }
  const std::uint64_t now = base::ticks();
  const std::uint64_t ticks = base::ticks_per_microsecond();
  random_ = random_ * 1664525U + 1013904223U;
  const std::size_t first = (random_ >> 16) % count_of_victims;
  for (std::size_t i = 0; i < count_of_victims; ++i) {
    Victim& victim = victims_[(first + i) % count_of_victims];
    if (victim.prefers_its_own && now - victim.robbed_at < victim.patience &&
        now - victim.looked_at < microseconds_between_looks * ticks) {
      declined_ = true;  // without a look at what it is writing
      continue;
    }
    if ((victim.worker->deque_.size() <= 0 && victim.worker->returned_.empty()) ||
        is_better_left_alone(*victim.worker, now)) {
      continue;
    }
    const std::size_t share = fair_share(victim, now);
    if (share == 0) {
      declined_ = true;
      continue;
    }
    std::size_t taken = victim.worker->deque_.steal(batch_.data(), share);
    if (taken == 0 && share > 1) {
      taken = victim.worker->returned_.pop(batch_.data(), std::min(share, victim.worker->returned_.size() / 2 + 1));
    }
    if (taken > 0) {
      theft_ = &victim;
      for (std::size_t k = taken - 1; k >= 1; --k) {
        __builtin_prefetch(batch_[k], 1);
        deque_.push(batch_[k]);
      }
      return batch_[0];
    }
  }
  return nullptr;
}

void Worker::plan_turn() noexcept {
  const bool is_long = 1000 * std::uint64_t{usual_body_.load(std::memory_order_relaxed)} >
                       nanoseconds_of_a_long_body * base::ticks_per_microsecond();
  next_turn_ = tick_ + (is_long ? turn_period_of_long_bodies : turn_period_of_small_bodies);
}

Task* Worker::take_returned() { return first_of_batch(returned_.pop(batch_.data(), batch_.size())); }

Task* Worker::take_resumed() {
  Task* task = nullptr;
  core_.resumed.pop(&task, 1);
  return task;
}

// The order of the looks in `find_task` is what is fastest, and would let a task wait for ever behind others that keep coming: in the
// deque the newest goes first, and one queue before another. So now and then a task is taken from each of them in turn, the oldest.
// A resumed task, whose time may have come, goes before that, and the turn comes right behind it: `turn_` is then odd.
Task* Worker::take_in_turn() {
  enum class Queue : std::uint8_t { urgent, shared, returned, own, tied, deferred };
  constexpr unsigned queues = 6;
  if (turn_ % 2 == 0) {
    if (Task* task = take_resumed()) {
      ++turn_;
      next_turn_ = tick_ + 1;
      return task;
    }
  }
  for (unsigned tried = 0; tried < queues; ++tried) {
    const auto queue = static_cast<Queue>(turn_ / 2 % queues);
    turn_ = turn_ / 2 * 2 + 2;
    Task* task = nullptr;
    switch (queue) {
      case Queue::urgent:
        task = core_.urgent.pop();
        break;
      case Queue::shared:
        task = take_shared();
        break;
      case Queue::returned:
        task = take_returned();
        break;
      case Queue::own:
        deque_.steal(&task, 1);
        break;
      case Queue::tied:
        task = take_tied();
        break;
      case Queue::deferred:
        task = core_.deferred.pop();
        break;
    }
    if (task != nullptr) {
      return task;
    }
  }
  return nullptr;
}

bool Worker::gives_turn() noexcept {
  ++tick_;
  if (!turn_is_due()) [[likely]] {
    return false;
  }
  const bool others_wait = !core_.resumed.empty() || !core_.urgent.empty() || !core_.shared.empty() ||
                           !returned_.empty() || !tied_.empty() || !core_.deferred.empty();
  if (others_wait || ++turns_on_top_ % most_turns_on_top == 0) {
    return true;  // the turn is due at the next look
  }
  plan_turn();
  return false;
}

// Whether the slice of the task will be long, and there may be a short one at hand.
bool Worker::gives_way(const Task* task) const noexcept {
  return short_queued_ && !predictor_.is_surely_short(slice_of(task));
}

// What to run instead of a task whose slice will be long: one at hand whose slice will be short, if there is any. What that begins,
// a transfer say, is then under way meanwhile.
Task* Worker::short_before(Task* long_task) {
  std::size_t passed = 0;
  Task* found = nullptr;
  while (found == nullptr && passed < most_passed) {
    Task* const task = deque_.pop();
    if (task == nullptr) {
      break;
    }
    if (predictor_.is_surely_short(slice_of(task))) {
      found = task;
    } else {
      batch_[passed++] = task;
    }
  }
  while (passed > 0) {
    push(batch_[--passed]);
  }
  short_queued_ = found != nullptr;
  if (found == nullptr) {
    return long_task;
  }
  push(long_task);
  return found;
}

Task* Worker::find_task() {
  ++tick_;
  core_.rest_if_abandoned();
  core_.polled.look();
  if (theft_ != nullptr) [[unlikely]] {
    judge_theft();
  }
  if (slice_start_ != 0) [[unlikely]] {
    after_slice(base::ticks());
  }
  if (operations_ && (long_slice_ || tick_ % 8 == 0)) [[unlikely]] {
    poll_services(false);
  }
  if (turn_is_due()) [[unlikely]] {
    plan_turn();
    core_.reactor.run_due();
    if (Task* task = take_in_turn()) {
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
  if (!core_.resumed.empty()) [[unlikely]] {
    if (Task* task = take_resumed()) {
      return task;
    }
  }
  if (Task* task = take_local()) {
    return gives_way(task) ? short_before(task) : task;
  }
  if (kept_to_itself_.load(std::memory_order_relaxed)) {
    kept_to_itself_.store(false, std::memory_order_relaxed);  // they have run
  }
  out_of_work_.store(1, std::memory_order_seq_cst);
  Task* task = look_everywhere();
  out_of_work_.store(0, std::memory_order_relaxed);
  core_.stuck.activity();
  if (searching_) {
    searching_ = false;
    // Whoever brought work while this worker looked has woken nobody.
    if (core_.idle.end_search() && (deque_.size() > 0 || may_be_work())) {
      core_.idle.notify_from_outside();
    }
  }
  return task;
}

Task* Worker::look_everywhere() {
  for (;;) {
    core_.rest_if_abandoned();
    flush_children();
    if (Task* task = take_tied()) {
      return task;
    }
    if (Task* task = take_local()) {
      return task;
    }
    if (Task* task = take_returned()) {
      return task;
    }
    if (Task* task = core_.urgent.pop()) {
      return task;
    }
    if (Task* task = take_resumed()) {
      return task;
    }
    if (Task* task = take_shared()) {
      return task;
    }
    if (operations_) {
      // Else the sleep itself hands over what is prepared, if this comes to nothing else: one system call for both. But the last one
      // was over at once, so it was no sleep.
      if (ends_at_once_) {
        flush_services();
      }
      if (poll_services(false)) {
        if (refuge_has_time()) {
          retreat();
        }
        continue;
      }
      ends_at_once_ = false;
    }
    if (core_.reactor.run_due() > 0) {
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
      begin_operations(false);
    }
    if (core_.throttle.holds_any() && core_.throttle.release_if_idle(core_)) {
      continue;
    }
    if (core_.stopping.load(std::memory_order_acquire)) {
      return nullptr;
    }
    if (declined_) {
      if (flush_requested_) {
        flush_services();
      }
      // Away from the memory that the other worker is writing.
      for (unsigned i = 0; i < relaxes_after_declining; ++i) {
        base::cpu_relax();
      }
      continue;
    }
    sleep();
  }
}

}  // namespace dovetail::tasking
