// A task as the runtime sees it. The parts that every task needs are in `Task`; what few tasks need is in `TaskExtra`, made on
// demand. The body's frame follows the task in the same block.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "dovetail/detail/body.hpp"
#include "dovetail/events.hpp"
#include "dovetail/failure.hpp"
#include "fiber/fiber.hpp"
#include "tasking/wait_reason.hpp"

namespace dovetail {

struct EventsAccess {
  static std::atomic<std::uint32_t>& count(Events& events) noexcept { return events.count_; }
  static Events* construct(void* place, std::uint32_t initial) noexcept { return new (place) Events(initial); }
};

namespace tasking {

using detail::RuntimeCore;
using detail::Task;

class DependencyDomain;
class DependencyNode;
class Exclusion;
class Failure;
class ObservedTask;
class Ticket;
struct Label;
struct WaitNode;

/// Where a task is in its life. Written only by the thread that moves it on; read by reports.
enum class TaskState : std::uint8_t { free, created, onready, admission, ready, running, paused, returned, completed };

/// Which thread may move a paused task on: see `pause` and `wake`.
enum class PauseState : std::uint8_t { running, paused, woken };

/// The word behind `this_task::suspend`: a resume that comes early is kept, also while the task waits in a `WaitingLine`.
enum class ResumeState : std::uint8_t { none, kept, awaited, in_line, in_line_and_kept };

struct TaskExtra {
  TaskExtra();
  ~TaskExtra();
  TaskExtra(const TaskExtra&) = delete;
  TaskExtra& operator=(const TaskExtra&) = delete;

  std::function<void()> onready;
  FailurePolicy on_failure;
  unsigned attempts = 0;
  std::unique_ptr<DependencyDomain> domain;  ///< Of the children.
  std::vector<Failure*> child_failures;      ///< Not taken yet, oldest first. Guarded by the runtime's failure mutex.
  std::vector<Exclusion*> exclusions;        ///< Of commutative accesses, in a global order.
  std::size_t exclusions_held = 0;
  void* external_frame = nullptr;          ///< A frame too large for the block.
  std::unique_ptr<Ticket> ticket;          ///< Of a task that has to be admitted.
  std::unique_ptr<ObservedTask> observed;  ///< Until it has completed: where the runtime has an `AccessObserver`.
  bool asked_for_stop_token = false;
};

}  // namespace tasking

namespace detail {

/// Not polymorphic and never copied; lives in a block of the task pools.
struct Task {
  union {
    Task* next;                ///< In queues. First, where a free block has its link.
    const void* wait_subject;  ///< While paused: what `wait_reason` is about.
  };
  std::atomic<std::uint32_t> references;
  std::atomic<tasking::TaskState> state;
  std::atomic<tasking::PauseState> pause_state;
  std::atomic<tasking::ResumeState> resume_state;
  std::uint8_t size_class : 6;
  std::uint8_t own_label : 1;      ///< The label is a copy of the task's own.
  std::uint8_t deliver_stuck : 1;  ///< The pause ends because nothing can end it properly.

  std::atomic<std::uint32_t> predecessors;  ///< Accesses that are not free yet, and one for the spawn itself.
  std::atomic<std::uint32_t> blockers;      ///< Space of `Events`: what completion (or `onready`) still waits for.
  RuntimeCore* core;
  Task* parent;
  const BodyOperations* operations;
  tasking::DependencyNode* node;  ///< Of its accesses, if it has any.
  const tasking::Label* label;
  tasking::TaskExtra* extra;
  fiber::Fiber* fiber;                      ///< Where the body is paused.
  std::atomic<tasking::WaitNode*> waiters;  ///< See wait_list.hpp.
  std::atomic<tasking::Failure*> failure;   ///< The first one; owns a reference.
  std::atomic<std::int64_t> children;       ///< Published minus completed: docs/design/completion.md.
  std::uint32_t children_spawned;           ///< Not published yet. Only the thread that runs the body writes it.
  std::int32_t priority;
  std::uint32_t cancel_epoch;  ///< Of the runtime when the task was spawned, or of its parent.
  std::uint32_t home_worker;   ///< Which one made it, if one did; once it has paused, where a tied task has to resume.
  tasking::WaitReason wait_reason;
  std::uint8_t io : 1;  ///< The thread that moves the task on writes this and `tied`.
  std::uint8_t tied : 1;
  bool children_awaited;       ///< The body waits for its children; else, at zero, one blocker is removed.
  bool starting;               ///< In the phase of `onready`: blockers delay the start, not the completion.
  bool has_run;                ///< The body was entered. A retry runs what ran; it does not run what must not.
  std::atomic<bool> poisoned;  ///< A predecessor failed: the body must not run.
  std::atomic<bool> cancel_requested;
  std::atomic<std::uint8_t> first_look;  ///< Which look for long waits was the first to find it in this wait; 0: none.

  Events& events() noexcept { return *reinterpret_cast<Events*>(&blockers); }
  static Task* of(Events* events) noexcept;
  void* block_frame() noexcept;
};

static_assert(sizeof(Events) == sizeof(std::atomic<std::uint32_t>));

}  // namespace detail

namespace tasking {

inline constexpr std::size_t task_header = 128;
/// `home_worker` of a task that no worker made.
inline constexpr std::uint32_t no_worker = UINT32_MAX;
static_assert(sizeof(Task) <= task_header, "two cache lines: the memory of a pending task is part of the contract");

/// @name In task_memory.cpp
/// @{
TaskExtra& extra_of(Task* task);
/// Makes a task with one reference for the runtime and one for the caller. `parent` null: a root.
Task* make_task(RuntimeCore* core, Task* parent, const detail::BodyOperations* operations, std::size_t frame_size);
/// Frees the memory of a task whose body and result are gone.
void free_task(Task* task) noexcept;
/// Visits all blocks that hold a task that is not free. For reports, when nothing runs.
void for_each_task(const std::function<void(Task*)>& visit);

void retain(Task* task, std::uint32_t count = 1) noexcept;
void release(Task* task) noexcept;
/// @}

}  // namespace tasking

namespace detail {
inline void* Task::block_frame() noexcept { return reinterpret_cast<std::byte*>(this) + tasking::task_header; }
}  // namespace detail

}  // namespace dovetail
