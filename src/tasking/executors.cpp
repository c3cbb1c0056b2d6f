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
#include "tasking/lifecycle.hpp"
#include "trace/trace.hpp"

namespace dovetail::tasking {
namespace {

constexpr std::chrono::seconds idle_lifetime{5};
constexpr std::chrono::milliseconds between_looks{20};
std::atomic<unsigned> next_number{0};

}  // namespace

Executors::Executors(RuntimeCore& core, unsigned most_threads, unsigned places)
    : core_(core), most_threads_(most_threads), places_(std::min(places, most_threads), most_threads) {}

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

// Returns false, and has done nothing, if no thread exists that could ever take the item.
template <typename Item>
bool Executors::queue(Queue<Item>& queue, Item* item, std::unique_lock<std::mutex>& lock) {
  queue.push(item);
  if (need_thread(lock)) {
    return true;
  }
  queue.take_back(item);
  busy_.fetch_sub(1, std::memory_order_acq_rel);
  return false;
}

bool Executors::run_task(Task* task) {
  std::unique_lock lock(mutex_);
  busy_.fetch_add(1, std::memory_order_acq_rel);
  const bool open = is_open(task);
  if (open && !take_place(task)) {
    return true;
  }
  const bool queued = queue(tasks_, task, lock);
  if (open && !queued) {
    give_place_back();
  }
  return queued;
}

bool Executors::take_place(Task* task) {
  if (places_.take()) {
    return true;
  }
  waiting_.push(task);
  core_.reactor.expect(Reactor::Upkeep::executors, base::Clock::now() + between_looks);
  return false;
}

// One in so many is taken in turn, so that none waits for ever behind those of higher priority.
Task* Executors::next_waiting() {
  constexpr unsigned between_turns = 8;
  return ++taken_from_waiting_ % between_turns == 0 ? waiting_.pop_in_turn() : waiting_.pop();
}

// It is for the next one at once, which the calling thread runs, or another.
void Executors::give_place_back() {
  places_.give_back();
  while (!waiting_.empty() && places_.take()) {
    tasks_.push(next_waiting());
  }
  if (waiting_.empty()) {
    places_.nobody_waits();
  }
}

base::TimePoint Executors::look() {
  std::unique_lock lock(mutex_);
  if (waiting_.empty() || places_.is_fixed()) {
    return base::TimePoint::max();
  }
  const base::TimePoint next = base::Clock::now() + (places_.may_grow() ? 1 : 10) * between_looks;
  if (places_.worth_looking(tasks_.empty())) {
    Activity busiest = Activity::waits;
    for (const Thread& thread : threads_) {
      if (const Task* const task = thread.open_task; task != nullptr && busiest != Activity::uses_a_file) {
        const bool paused = task->state.load(std::memory_order_relaxed) == TaskState::paused;
        // One that waits for its time ends some time, as one that computes.
        busiest = std::max(busiest, !paused                 ? activity_of(thread.id)
                                    : keeps_its_place(task) ? Activity::computes
                                                            : Activity::waits);
      }
    }
    if (places_.look(busiest)) {
      tasks_.push(next_waiting());
      need_thread(lock);
    }
  }
  return next;
}

void Executors::run_work(BlockingWork* work) {
  std::unique_lock lock(mutex_);
  busy_.fetch_add(1, std::memory_order_acq_rel);
  if (!queue(work_, work, lock)) {
    lock.unlock();
    work->run(work);  // no thread can be made: the caller blocks in its place
  }
}

// Returns false only if no thread exists that could ever take the work; then the lock is still held.
bool Executors::need_thread(std::unique_lock<std::mutex>& lock) {
  if (idle_ > wakes_) {
    ++wakes_;
    lock.unlock();
    available_.notify_one();
    return true;
  }
  if (threads_.size() - blocked_ >= most_threads_) {
    return true;  // a busy thread takes it when it is done
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
    return threads_.size() > blocked_;
  }
  return true;
}

void Executors::thread_blocks(const Task* task) {
  std::unique_lock lock(mutex_);
  ++blocked_;
  busy_.fetch_sub(1, std::memory_order_acq_rel);
  if (is_open(task) && !keeps_its_place(task)) {
    give_place_back();
  }
  if (!work_.empty() || !tasks_.empty()) {
    need_thread(lock);
  }
  if (lock.owns_lock()) {
    lock.unlock();
  }
  count_idle();
}

void Executors::thread_unblocks(const Task* task) {
  std::lock_guard lock(mutex_);
  --blocked_;
  if (is_open(task) && !keeps_its_place(task)) {
    places_.take_again();
  }
}

// A worker that sleeps while executors are busy does not look for a stuck graph: it has to look when they are not any more.
void Executors::count_idle() noexcept {
  if (busy() == 0 && core_.foreign.waiting.load(std::memory_order_seq_cst) > 0) {
    core_.idle.wake_one();
  }
}

// With the lock released.
void Executors::run(Task* task, Thread& thread, bool open) {
  if (task->extra != nullptr && task->extra->ticket != nullptr) {
    task->extra->ticket->started();
  }
  run_body(task);
  if (open) {
    std::unique_lock lock(mutex_);
    thread.open_task = nullptr;
    places_.ended();
    give_place_back();
    if (!work_.empty() && !tasks_.empty()) {
      need_thread(lock);  // this one takes the work
    }
  }
}

void Executors::thread_main(Threads::iterator self) {
  const unsigned number = next_number.fetch_add(1, std::memory_order_relaxed);
  pthread_setname_np(pthread_self(), ("dovetail-io-" + std::to_string(number % 1000)).c_str());
  context() = {&core_, nullptr, nullptr, nullptr};
  trace::thread_name(trace::ThreadKind::executor, number);
  std::unique_lock lock(mutex_);
  self->id = static_cast<pid_t>(syscall(SYS_gettid));
  for (;;) {
    if (core_.abandoned.load(std::memory_order_relaxed)) [[unlikely]] {
      lock.unlock();
      core_.rest_if_abandoned();
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
      if (stopping_) {
        break;
      }
      ++idle_;
      const bool woken = available_.wait_for(
          lock, idle_lifetime, [&] { return wakes_ > 0 || stopping_ || !work_.empty() || !tasks_.empty(); });
      --idle_;
      if (wakes_ > 0) {
        --wakes_;
      }
      if (!woken) {
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
  std::lock_guard lock(mutex_);
  return threads_.size();
}

void Executors::stop() {
  Threads ended;
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    available_.notify_all();
  }
  for (;;) {
    {
      std::unique_lock lock(mutex_);
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

void Executors::abandon_after_fork() noexcept {
  for (Thread& one : threads_) {
    if (one.thread.joinable()) {
      one.thread.detach();
    }
  }
  threads_.clear();
}

}  // namespace dovetail::tasking
