// Threads for work that blocks in the operating system: I/O tasks, and system calls that have no asynchronous form. They take
// no compute worker. Threads are made when work waits and none is free, and end when they have been idle for a while.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <list>
#include <mutex>
#include <thread>

#include "tasking/service.hpp"
#include "tasking/task.hpp"

namespace dovetail::tasking {

class Executors {
 public:
  Executors(RuntimeCore& core, unsigned most_threads);
  /// Nothing may be queued or running.
  ~Executors();
  Executors(const Executors&) = delete;
  Executors& operator=(const Executors&) = delete;

  /// Queues an I/O task that is ready. False, and nothing done, if there is no thread for it and none can be made.
  bool run_task(Task* task);
  /// Queues blocking work; it goes before tasks, since tasks may wait for it.
  void run_work(BlockingWork* work);
  /// The calling executor thread is going to block in a pause, and comes back from it. A blocked thread does not count
  /// against the limit, since what it waits for may be queued here.
  void thread_blocks();
  void thread_unblocks();
  /// Somebody ends the pause of a task on an executor. From then on it counts as busy, not only when its thread has come to:
  /// meanwhile, the runtime must not be taken for stuck.
  void thread_woken() noexcept { busy_.fetch_add(1, std::memory_order_acq_rel); }
  /// That came before its thread could block.
  void woken_early() noexcept { busy_.fetch_sub(1, std::memory_order_acq_rel); }
  /// Work that is queued or running, but for what is blocked in a pause.
  std::size_t busy() const noexcept { return busy_.load(std::memory_order_acquire); }
  std::size_t threads() const;
  void stop();
  /// In the child of a fork the threads do not exist.
  void abandon_after_fork() noexcept;

 private:
  bool need_thread(std::unique_lock<std::mutex>& lock);
  void count_idle() noexcept;
  void thread_main(std::list<std::thread>::iterator self);

  RuntimeCore& core_;
  const std::size_t most_threads_;
  mutable std::mutex mutex_;
  std::condition_variable available_;
  BlockingWork* first_work_ = nullptr;
  BlockingWork* last_work_ = nullptr;
  Task* first_task_ = nullptr;
  Task* last_task_ = nullptr;
  std::size_t idle_ = 0;
  std::size_t blocked_ = 0;
  std::size_t wakes_ = 0;  ///< Notifications that no thread has answered yet.
  bool stopping_ = false;
  std::list<std::thread> threads_;
  std::list<std::thread> ended_;
  std::atomic<std::size_t> busy_{0};
};

}  // namespace dovetail::tasking
