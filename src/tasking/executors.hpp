// Threads for work that blocks in the operating system: I/O tasks, and system calls that have no asynchronous form. They take
// no compute worker. Threads are made when work waits and none is free, and end when they have been idle for a while.
//
// How many I/O tasks run at once is what the gate says (gate.hpp). Those of which it says nothing are *open* (open_tasks.hpp).
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <thread>

#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "tasking/open_tasks.hpp"
#include "tasking/service.hpp"
#include "tasking/task.hpp"

namespace dovetail::tasking {

class Executors {
 public:
  /// @param run_body  Runs the body of a task to its end.
  /// @param schedule  Gives a task that is none of I/O to the workers.
  /// @param places    For open tasks, to begin with.
  Executors(RuntimeCore& core, void (*run_body)(Task*), void (*schedule)(Task*), unsigned most_threads,
            unsigned places);
  /// Nothing may be queued or running.
  ~Executors();
  Executors(const Executors&) = delete;
  Executors& operator=(const Executors&) = delete;

  /// Queues an I/O task that is ready. False, and nothing done, if there is no thread for it and none can be made.
  bool run_task(Task* task);
  /// Queues blocking work; it goes before tasks, since tasks may wait for it.
  void run_work(BlockingWork* work);
  /// The calling executor thread is going to block in the pause of its task, and comes back from it. A blocked thread does not count
  /// against the limit, since what it waits for may be queued here. Null: it blocks in work, which may wait for other work.
  void thread_blocks(const Task* task);
  void thread_unblocks(const Task* task);
  /// A thread ends the pause of a task on an executor. From then on it counts as busy, not only when its thread has come to:
  /// meanwhile, the runtime must not be taken for stuck.
  void thread_woken() noexcept { busy_.fetch_add(1, std::memory_order_acq_rel); }
  /// That came before its thread could block.
  void woken_early() noexcept { busy_.fetch_sub(1, std::memory_order_acq_rel); }
  /// Work that is queued or running, but for what is blocked in a pause.
  std::size_t busy() const noexcept { return busy_.load(std::memory_order_acquire); }
  std::size_t threads() const;
  /// For the reactor: looks whether open tasks need one more place. Returns when to look again.
  base::TimePoint look();
  void stop();
  /// In the child of a fork the threads do not exist.
  void abandon_after_fork() noexcept;

 private:
  struct Thread {
    std::thread thread;
    // Under the lock, too: GUARDED_BY cannot name that of the object around.
    pid_t id = 0;
    const Task* open_task = nullptr;  ///< The one that it runs.
  };
  using Threads = std::list<Thread>;
  template <typename Item>
  struct Queue {
    Item* first = nullptr;
    Item* last = nullptr;
    bool empty() const noexcept { return first == nullptr; }
    void push(Item* item) noexcept;
    Item* pop() noexcept;
    void take_back(const Item* pushed_last) noexcept;
  };

  /// Which executor takes what was queued.
  enum class Taker : std::uint8_t { none, awake, sleeping };

  template <typename Item>
  Taker queue(Queue<Item>& queue, Item* item) REQUIRES(mutex_);
  Taker need_thread() REQUIRES(mutex_);
  void wake(Taker taker) noexcept EXCLUDES(mutex_);
  /// @name What no thread will take. Both give the lock back for a while.
  /// @{
  void run_work_first() REQUIRES(mutex_);
  void leave_tasks_to_workers() REQUIRES(mutex_);
  /// @}
  bool has_call() const noexcept REQUIRES(mutex_);
  bool sleep(base::UniqueLock& lock) REQUIRES(mutex_);
  void count_idle() noexcept;
  void thread_main(Threads::iterator self);
  void run(Task* task, Thread& thread, bool open) EXCLUDES(mutex_);

  void may_run(Task* task) REQUIRES(mutex_);
  /// What the busiest of the open tasks that have begun does.
  Activity busiest() const REQUIRES(mutex_);

  RuntimeCore& core_;
  void (*const run_body_)(Task*);
  void (*const schedule_)(Task*);
  const std::size_t most_threads_;
  mutable base::Mutex mutex_;
  base::ConditionVariable available_;
  Queue<BlockingWork> work_ GUARDED_BY(mutex_);
  Queue<Task> tasks_ GUARDED_BY(mutex_);  ///< That may run.
  OpenPlaces<Task> places_ GUARDED_BY(mutex_);
  std::size_t idle_ GUARDED_BY(mutex_) = 0;
  std::size_t blocked_ GUARDED_BY(mutex_) = 0;
  std::size_t wakes_ GUARDED_BY(mutex_) = 0;  ///< Notifications that no thread has answered yet.
  bool stopping_ GUARDED_BY(mutex_) = false;
  Threads threads_ GUARDED_BY(mutex_);
  Threads ended_ GUARDED_BY(mutex_);
  std::atomic<std::size_t> busy_{0};
};

}  // namespace dovetail::tasking
