#include "tasking/executors.hpp"

#include <pthread.h>

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
std::atomic<unsigned> next_number{0};

}  // namespace

Executors::Executors(RuntimeCore& core, unsigned most_threads) : core_(core), most_threads_(most_threads) {}

Executors::~Executors() { stop(); }

bool Executors::run_task(Task* task) {
  std::unique_lock lock(mutex_);
  busy_.fetch_add(1, std::memory_order_acq_rel);
  task->next = nullptr;
  Task* const before = last_task_;
  if (first_task_ == nullptr) {
    first_task_ = task;
  } else {
    last_task_->next = task;
  }
  last_task_ = task;
  if (need_thread(lock)) {
    return true;
  }
  // Nobody took it, since there is nobody: it is still the last.
  if (first_task_ == task) {
    first_task_ = nullptr;
  } else {
    before->next = nullptr;
    last_task_ = before;
  }
  busy_.fetch_sub(1, std::memory_order_acq_rel);
  return false;
}

void Executors::run_work(BlockingWork* work) {
  std::unique_lock lock(mutex_);
  busy_.fetch_add(1, std::memory_order_acq_rel);
  work->next = nullptr;
  BlockingWork* const before = last_work_;
  if (first_work_ == nullptr) {
    first_work_ = work;
  } else {
    last_work_->next = work;
  }
  last_work_ = work;
  if (need_thread(lock)) {
    return;
  }
  if (first_work_ == work) {
    first_work_ = nullptr;
  } else {
    before->next = nullptr;
    last_work_ = before;
  }
  busy_.fetch_sub(1, std::memory_order_acq_rel);
  lock.unlock();
  work->run(work);  // no thread can be made: the caller blocks in its place
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
  for (std::thread& thread : ended_) {
    thread.join();  // it has left its last critical section
  }
  ended_.clear();
  threads_.emplace_front();
  const auto self = threads_.begin();
  try {
    *self = std::thread(&Executors::thread_main, this, self);
  } catch (const std::system_error&) {
    threads_.pop_front();
    return threads_.size() > blocked_;
  }
  return true;
}

void Executors::thread_blocks() {
  std::unique_lock lock(mutex_);
  ++blocked_;
  busy_.fetch_sub(1, std::memory_order_acq_rel);
  if (first_work_ != nullptr || first_task_ != nullptr) {
    need_thread(lock);
  }
  if (lock.owns_lock()) {
    lock.unlock();
  }
  count_idle();
}

void Executors::thread_unblocks() {
  std::lock_guard lock(mutex_);
  --blocked_;
}

// A worker that sleeps while executors are busy does not look for a stuck graph: it has to look when they are not any more.
void Executors::count_idle() noexcept {
  if (busy() == 0 && core_.foreign.waiting.load(std::memory_order_seq_cst) > 0) {
    core_.idle.wake_one();
  }
}

void Executors::thread_main(std::list<std::thread>::iterator self) {
  const unsigned number = next_number.fetch_add(1, std::memory_order_relaxed);
  pthread_setname_np(pthread_self(), ("dovetail-io-" + std::to_string(number % 1000)).c_str());
  context() = {&core_, nullptr, nullptr, nullptr};
  trace::thread_name(trace::ThreadKind::executor, number);
  std::unique_lock lock(mutex_);
  for (;;) {
    if (core_.abandoned.load(std::memory_order_relaxed)) [[unlikely]] {
      lock.unlock();
      core_.rest_if_abandoned();
    }
    if (first_work_ != nullptr) {
      BlockingWork* work = first_work_;
      first_work_ = work->next;
      lock.unlock();
      work->run(work);
    } else if (first_task_ != nullptr) {
      Task* task = first_task_;
      first_task_ = task->next;
      lock.unlock();
      if (task->extra != nullptr && task->extra->ticket != nullptr) {
        task->extra->ticket->started();
      }
      run_body(task);
    } else {
      if (stopping_) {
        break;
      }
      ++idle_;
      const bool woken = available_.wait_for(lock, idle_lifetime, [&] {
        return wakes_ > 0 || stopping_ || first_work_ != nullptr || first_task_ != nullptr;
      });
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
  std::list<std::thread> ended;
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
        std::thread& thread = threads_.front();
        std::thread joined = std::move(thread);
        threads_.front() = std::thread();
        lock.unlock();
        joined.join();
        continue;
      }
    }
    for (std::thread& thread : ended) {
      if (thread.joinable()) {
        thread.join();
      }
    }
    ended.clear();
  }
}

void Executors::abandon_after_fork() noexcept {
  for (std::thread& thread : threads_) {
    if (thread.joinable()) {
      thread.detach();
    }
  }
  threads_.clear();
}

}  // namespace dovetail::tasking
