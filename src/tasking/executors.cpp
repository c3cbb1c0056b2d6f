#include "tasking/executors.hpp"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "tasking/context.hpp"
#include "tasking/core.hpp"
#include "tasking/gate.hpp"
#include "tasking/stack_overflow.hpp"
#include "trace/trace.hpp"

namespace dovetail::tasking {
namespace {

constexpr std::chrono::seconds idle_lifetime{5};
std::atomic<unsigned> next_number{0};

}  // namespace

Executors::Executors(RuntimeCore& core, void (*run_body)(Task*), void (*schedule)(Task*), unsigned most_threads,
                     unsigned places)
    : core_(core),
      run_body_(run_body),
      schedule_(schedule),
      most_threads_(most_threads),
      places_(std::min(places, most_threads), most_threads) {}

Executors::~Executors() { stop(); }

template <typename Item>
void Executors::Queue<Item>::push(Item* item) noexcept {
  item->next = nullptr;
  (first == nullptr ? first : last->next) = item;
  last = item;
}

template <typename Item>
Item* Executors::Queue<Item>::pop() noexcept {
  Item* const item = first;
  first = item->next;
  return item;
}

template <typename Item>
void Executors::Queue<Item>::take_back(const Item* pushed_last) noexcept {
  Item** place = &first;
  Item* before = nullptr;
  while (*place != pushed_last) {
    before = *place;
    place = &before->next;
  }
  *place = nullptr;
  last = before;
}

// Has done nothing if no thread exists that could ever take the item.
template <typename Item>
Executors::Taker Executors::queue(Queue<Item>& queue, Item* item) {
  queue.push(item);
  const Taker taker = need_thread();
  if (taker == Taker::none) {
    queue.take_back(item);
    busy_.fetch_sub(1, std::memory_order_acq_rel);
  }
  return taker;
}

bool Executors::run_task(Task* task) {
  base::UniqueLock lock(mutex_);
  busy_.fetch_add(1, std::memory_order_acq_rel);
  const bool open = is_open(task);
  if (open && !places_.take(*task)) {
    core_.reactor.expect(Reactor::Upkeep::executors, base::Clock::now() + places_.between_looks);
    return true;
  }
  const Taker taker = queue(tasks_, task);
  if (taker == Taker::none) {
    if (open) {
      may_run(places_.give_back());
    }
    leave_tasks_to_workers();
  }
  lock.unlock();
  wake(taker);
  return taker != Taker::none;
}

// An open task that has got a place; null: there is none.
void Executors::may_run(Task* task) {
  if (task != nullptr) {
    tasks_.push(task);
  }
}

Activity Executors::busiest() const {
  Activity most = Activity::waits;
  for (const Thread& thread : threads_) {
    if (thread.open_task != nullptr && most != Activity::uses_a_file) {
      most = std::max(most, activity_of(thread.open_task, thread.id));
    }
  }
  return most;
}

base::TimePoint Executors::look() {
  base::UniqueLock lock(mutex_);
  if (!places_.needs_looks()) {
    return base::TimePoint::max();
  }
  const base::TimePoint next = base::Clock::now() + places_.until_next_look();
  Taker taker = Taker::none;
  // The check does not see that the lock is held where it is called.
  const auto ask = [this]() NO_THREAD_SAFETY_ANALYSIS { return busiest(); };
  if (Task* const task = places_.look(tasks_.empty(), ask)) {
    tasks_.push(task);
    taker = need_thread();
    if (taker == Taker::none) {
      leave_tasks_to_workers();
    }
  }
  lock.unlock();
  wake(taker);
  return next;
}

void Executors::run_work(BlockingWork* work) {
  base::UniqueLock lock(mutex_);
  busy_.fetch_add(1, std::memory_order_acq_rel);
  const Taker taker = queue(work_, work);
  lock.unlock();
  wake(taker);
  if (taker == Taker::none) {
    work->run(work);  // no thread can be made: the caller blocks in its place
  }
}

// The caller has to `wake` the executor that takes the work, once it has given the lock back, which that executor is
// going to want.
Executors::Taker Executors::need_thread() {
  if (idle_ > wakes_) {
    ++wakes_;
    return Taker::sleeping;
  }
  if (threads_.size() - blocked_ >= most_threads_) {
    return Taker::awake;  // it takes it when it is done with another
  }
  for (Thread& ended : ended_) {
    ended.thread.join();  // it has left its last critical section
  }
  ended_.clear();
  threads_.emplace_front();
  const auto self = threads_.begin();
  try {
    self->thread = std::thread(&Executors::thread_main, this, self);
  } catch (const std::system_error&) {
    threads_.pop_front();
    return threads_.size() > blocked_ ? Taker::awake : Taker::none;
  }
  return Taker::awake;
}

// Queued before the last thread that could take it was about to block.
void Executors::run_work_first() {
  --blocked_;
  while (!work_.empty()) {
    BlockingWork* const work = work_.pop();
    mutex_.unlock();
    work->run(work);
    mutex_.lock();
    busy_.fetch_sub(1, std::memory_order_acq_rel);
  }
  ++blocked_;
}

// No thread is awake, and none can be made: better a worker that blocks than a task that never runs.
void Executors::leave_tasks_to_workers() {
  while (!tasks_.empty()) {
    Task* const task = tasks_.pop();
    if (is_open(task)) {
      may_run(places_.give_back());
    }
    task->io = false;
    mutex_.unlock();
    schedule_(task);
    mutex_.lock();
    busy_.fetch_sub(1, std::memory_order_acq_rel);
  }
}

void Executors::wake(Taker taker) noexcept {
  if (taker == Taker::sleeping) {
    available_.notify_one();
  }
}

void Executors::thread_blocks(const Task* task) {
  base::UniqueLock lock(mutex_);
  ++blocked_;
  busy_.fetch_sub(1, std::memory_order_acq_rel);
  if (task != nullptr && is_open(task) && !keeps_its_place(task)) {
    may_run(places_.give_back());
  }
  const bool is_needed = !work_.empty() || !tasks_.empty();
  const Taker taker = is_needed ? need_thread() : Taker::none;
  if (is_needed && taker == Taker::none) {
    run_work_first();
    leave_tasks_to_workers();
  }
  lock.unlock();
  wake(taker);
  count_idle();
}

void Executors::thread_unblocks(const Task* task) {
  const base::LockGuard lock(mutex_);
  --blocked_;
  if (task != nullptr && is_open(task) && !keeps_its_place(task)) {
    places_.take_again();
  }
}

// A worker that sleeps while executors are busy does not look for a stuck graph: it has to look when they are not any more.
void Executors::count_idle() noexcept {
  if (busy() == 0 && core_.foreign.waiting.load(std::memory_order_seq_cst) > 0) {
    core_.idle.wake_one();
  }
}

void Executors::run(Task* task, Thread& thread, bool open) {
  if (task->extra != nullptr && task->extra->ticket != nullptr) {
    task->extra->ticket->started();
  }
  run_body_(task);
  if (open) {
    base::UniqueLock lock(mutex_);
    thread.open_task = nullptr;
    may_run(places_.ended());
    // This one takes the work.
    const Taker taker = work_.empty() || tasks_.empty() ? Taker::none : need_thread();
    lock.unlock();
    wake(taker);
  }
}

bool Executors::has_call() const noexcept { return wakes_ > 0 || stopping_ || !work_.empty() || !tasks_.empty(); }

// Returns whether there is anything to do.
bool Executors::sleep(base::UniqueLock& lock) {
  ++idle_;
  const base::TimePoint deadline = base::Clock::now() + idle_lifetime;
  while (!has_call() && base::Clock::now() < deadline) {
    available_.wait_until(lock, deadline);
  }
  const bool woken = has_call();
  --idle_;
  if (wakes_ > 0) {
    --wakes_;
  }
  return woken;
}

void Executors::thread_main(Threads::iterator self) {
  const unsigned number = next_number.fetch_add(1, std::memory_order_relaxed);
  pthread_setname_np(pthread_self(), ("dovetail-io-" + std::to_string(number % 1000)).c_str());
  const AlternateStack overflow_stack;
  context() = {.core = &core_, .lowest_of_stack = lowest_of_stack()};
  trace::thread_name(trace::ThreadKind::executor, number);
  base::UniqueLock lock(mutex_);
  self->id = static_cast<pid_t>(syscall(SYS_gettid));
  for (;;) {
    if (core_.abandoned.load(std::memory_order_relaxed)) [[unlikely]] {
      lock.unlock();
      RuntimeCore::rest_for_ever();
    }
    if (!work_.empty()) {
      BlockingWork* work = work_.pop();
      lock.unlock();
      work->run(work);
    } else if (!tasks_.empty()) {
      Task* task = tasks_.pop();
      const bool open = is_open(task);
      self->open_task = open ? task : nullptr;
      lock.unlock();
      run(task, *self, open);
    } else {
      if (stopping_ || !sleep(lock)) {
        break;
      }
      continue;
    }
    // Before the count: an idle runtime must not be seen as stuck while a completion is on its way.
    core_.stuck.activity();
    busy_.fetch_sub(1, std::memory_order_acq_rel);
    count_idle();
    lock.lock();
  }
  // A thread cannot join itself: the next one to stop, or the runtime, does.
  ended_.splice(ended_.begin(), threads_, self);
  context() = {};
}

std::size_t Executors::threads() const {
  const base::LockGuard lock(mutex_);
  return threads_.size();
}

void Executors::stop() {
  Threads ended;
  {
    const base::LockGuard lock(mutex_);
    stopping_ = true;
    available_.notify_all();
  }
  for (;;) {
    {
      base::UniqueLock lock(mutex_);
      ended.splice(ended.begin(), ended_);
      if (ended.empty()) {
        if (threads_.empty()) {
          return;
        }
        std::thread joined = std::move(threads_.front().thread);
        threads_.front().thread = std::thread();
        lock.unlock();
        joined.join();
        continue;
      }
    }
    for (Thread& one : ended) {
      if (one.thread.joinable()) {
        one.thread.join();
      }
    }
    ended.clear();
  }
}

// The lock may be held by a thread that does not exist here.
void Executors::abandon_after_fork() noexcept NO_THREAD_SAFETY_ANALYSIS {
  for (Thread& one : threads_) {
    if (one.thread.joinable()) {
      one.thread.detach();
    }
  }
  threads_.clear();
}

}  // namespace dovetail::tasking
