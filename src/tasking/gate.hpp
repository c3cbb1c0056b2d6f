// What a room of policy implements to say when a task that is ready may start. The scheduler knows nothing of what is
// shared out. A task that asks for nothing has no ticket and meets no gate.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "dovetail/options.hpp"
#include "dovetail/task.hpp"
#include "tasking/task.hpp"

namespace dovetail::tasking {

/// What one task has to do with the gate: made when it is spawned, destroyed with it.
class Ticket {
 public:
  virtual ~Ticket() = default;

  /// The task is ready. True: it may start at once. False: the gate keeps it, and calls `pass` later (passing.hpp). Called once, on any thread.
  virtual bool enter() noexcept = 0;
  /// An executor's thread is about to run the body of a task with `io`; the calling thread is that one. Called again for each retry, and not at
  /// all for a task that no executor could take.
  virtual void started() noexcept = 0;
  /// The task is over, whether it entered, ran, failed or not. Others may pass now. Called once, on any thread.
  virtual void leave(bool failed) noexcept = 0;
  /// Whether the gate says how many such tasks run at once. If not, the executors do.
  virtual bool is_limited() const noexcept = 0;
  /// After `enter` was false and before `pass`: what the task waits for, for reports; "device 'scratch', where ..." or so.
  virtual std::string waits_for() const = 0;

  /// Bytes that rooms have moved for the task, to or from files or other nodes. Any thread, while the task has not completed.
  void count_moved(std::uint64_t bytes) noexcept { moved_.fetch_add(bytes, std::memory_order_relaxed); }
  std::uint64_t moved() const noexcept { return moved_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> moved_{0};
};

/// The ticket of a task; null if it has none, or there is no task. Only on the thread that runs the task.
inline Ticket* ticket_of(const Task* task) noexcept {
  return task != nullptr && task->extra != nullptr ? task->extra->ticket.get() : nullptr;
}

/// One for the process, which serves all runtimes.
class Gate {
 public:
  virtual ~Gate() = default;

  /// Reads what a task is described with. @throws std::invalid_argument for a description that makes no sense.
  virtual std::unique_ptr<Ticket> describe(Task* task, const TaskDescription& description) = 0;
  /// The program asked for a cancellation: tasks that wait and must not run any more should pass. The runtime may be gone, it is
  /// only a name.
  virtual void cancelled(const RuntimeCore* core) noexcept = 0;
  /// Whether a task of this runtime waits for what a task of another runtime holds, so that it is not stuck.
  virtual bool held_elsewhere(const RuntimeCore& core) const noexcept = 0;
};

/// Sets the gate of the process. Called from a static initialiser of the room that implements it; it lives for ever.
bool register_gate(Gate* gate) noexcept;
/// The gate; null if no room implements one.
Gate* find_gate() noexcept;

}  // namespace dovetail::tasking
