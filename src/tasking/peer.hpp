// A worker as other threads see it.
#pragma once

#include <atomic>
#include <cstdint>

#include "tasking/body_length.hpp"
#include "tasking/kept_tasks.hpp"
#include "tasking/occupancy.hpp"
#include "tasking/ready_tasks.hpp"
#include "tasking/sleeper.hpp"
#include "tasking/task_count.hpp"

namespace dovetail::tasking {

class Peer {
 public:
  Peer(TaskTotals& totals, Service* parking, unsigned index) noexcept : count(totals), sleeper(parking, index) {}
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  /// Gives the worker a task that is better run there, and sees to it that it does not sleep on it. Any thread.
  void give(Task* task) noexcept {
    ready.give(task);
    // A read-modify-write: either this sees that the worker is about to sleep, or the worker the task.
    if (out_of_work_.fetch_add(0, std::memory_order_seq_cst) != 0) {
      sleeper.unpark();
    }
  }
  /// For the worker alone: it looks for work elsewhere, or sleeps.
  void runs_out_of_work(bool out) noexcept {
    out_of_work_.store(out ? 1 : 0, out ? std::memory_order_seq_cst : std::memory_order_relaxed);
  }
  bool is_out_of_work() const noexcept { return out_of_work_.load(std::memory_order_relaxed) != 0; }
  /// Not so while it looks elsewhere and a poll brings some.
  bool has_no_work() const noexcept { return is_out_of_work() && ready.size() <= 0; }

  TaskCount count;
  BodyLength bodies;
  KeptTasks kept;
  Occupancy occupancy;
  std::atomic<bool> has_operations{
      false};  ///< It has begun operations that may be in flight. Written by the worker alone.
  Sleeper sleeper;
  ReadyTasks ready;

 private:
  alignas(64) std::atomic<std::uint32_t> out_of_work_{0};
};

}  // namespace dovetail::tasking
