#include "tasking/waits.hpp"

#include <algorithm>
#include <atomic>

#include "tasking/core.hpp"
#include "tasking/dependency_node.hpp"
#include "tasking/gate.hpp"
#include "tasking/label.hpp"
#include "tasking/task.hpp"
#include "tasking/wait_reason.hpp"
#include "tasking/wait_visitor.hpp"
#include "tasking/waiters.hpp"

namespace dovetail::tasking {
namespace {

// A block of another runtime may be made a task of while this one looks.
RuntimeCore* owner_of(Task* task) noexcept {
  return std::atomic_ref<RuntimeCore*>(task->core).load(std::memory_order_relaxed);
}

// Threads outside may be spawning meanwhile.
std::string quoted(const Task* task) {
  const Label* label = std::atomic_ref<const Label*>(const_cast<Task*>(task)->label).load(std::memory_order_acquire);
  std::string text = "'";
  text.append(label->text).append("'");
  if (!label->accesses.empty()) {
    text.append(" (").append(label->accesses).append(")");
  }
  return text;
}

// Only the tasks that a task waits for know of it before it has started. So all live nodes are searched.
std::string describe_predecessors(const Task* waiting) {
  std::string text;
  for_each_task([&](Task* task) {
    if (owner_of(task) != waiting->core) {
      return;  // another runtime, which runs meanwhile
    }
    if (task->node == nullptr) {
      return;
    }
    task->node->for_each_successor([&](const Task* successor) {
      if (successor == waiting) {
        text.append(text.empty() ? "" : ", ").append(quoted(task));
      }
    });
  });
  return text;
}

WaitReason reason_of(Task* task) noexcept {
  return std::atomic_ref<WaitReason>(task->wait_reason).load(std::memory_order_relaxed);
}

// By another task, or by a thread that the runtime does not know.
bool waits_for_resume(WaitReason reason) noexcept {
  return reason == WaitReason::resume || reason == WaitReason::semaphore || reason == WaitReason::latch ||
         reason == WaitReason::barrier || reason == WaitReason::selection;
}

bool waits_for_others(Task* task, TaskState state, const Waits& waits) {
  if (waits.selecting_tasks.contains(task)) {
    return false;
  }
  return waits.operations.contains(task) || state == TaskState::onready ||
         (state == TaskState::paused &&
          (waits_for_resume(reason_of(task)) || reason_of(task) == WaitReason::operation)) ||
         (state == TaskState::returned && task->children.load(std::memory_order_relaxed) == 0);
}

}  // namespace

std::string describe(const Task* task, const std::string& operation) {
  const bool returned = task->state.load(std::memory_order_relaxed) == TaskState::returned;
  return "task " + quoted(task) + (returned ? " has returned and waits for " : " waits for ") + operation;
}

std::string describe(const Task* task, const Waits& waits) {
  const std::string name = std::string("task ").append(quoted(task));
  if (const auto operation = waits.operations.find(task); operation != waits.operations.end()) {
    return describe(task, operation->second);
  }
  switch (task->state.load(std::memory_order_relaxed)) {
    case TaskState::created:
      return name + " waits for its accesses";
    case TaskState::onready:
      return name + " waits for an event that its onready added";
    case TaskState::admission:
      return name + " waits for admission";
    case TaskState::returned:
      return name + " has returned and waits for its children or for an event";
    case TaskState::paused:
      switch (std::atomic_ref<WaitReason>(const_cast<Task*>(task)->wait_reason).load(std::memory_order_relaxed)) {
        case WaitReason::resume:
          return name + " is suspended and waits for TaskHandle::resume";
        case WaitReason::semaphore:
          return name + " waits for a Semaphore or Mutex";
        case WaitReason::latch:
          return name + " waits for a Latch";
        case WaitReason::barrier:
          return name + " waits for a Barrier";
        case WaitReason::task:
          return name + " waits in Future::get or wait for another task";
        case WaitReason::children:
          return name + " waits for its children";
        case WaitReason::operation:
          return name + " waits for an operation of another runtime's polling service";
        case WaitReason::time:
          return name + " waits for its time";
        case WaitReason::io:
        case WaitReason::system_call:
          return name + " waits for I/O";
        default:
          return name + " is paused";
      }
    default:
      return name + " is ready";
  }
}

std::string describe_stuck(const Task* task, const Waits& waits) {
  const std::string name = std::string("task ").append(quoted(task));
  switch (task->state.load(std::memory_order_relaxed)) {
    case TaskState::created: {
      const std::string whom = describe_predecessors(task);
      return name + " waits for " + (whom.empty() ? "an access that is never released" : "task " + whom);
    }
    case TaskState::admission:
      return name + " waits for admission to " + task->extra->ticket->waits_for();
    case TaskState::returned:
      return name + " has returned and waits for its children or for " +
             std::to_string(task->blockers.load(std::memory_order_relaxed)) + " event(s) that nobody fulfilled";
    case TaskState::paused:
      if (task->wait_reason == WaitReason::task) {
        return name + " waits in Future::get or wait for task " + quoted(awaited_task(task));
      }
      return describe(task, waits);
    default:
      return describe(task, waits);
  }
}

bool for_each_wait(RuntimeCore& core, const VisitSelection& visit) {
  const VisitWait of_source = [&](const Task* task, const WaitText& what) { visit(task, what, Awaited::sources); };
  core.selections.for_each_wait(visit);
  core.reactor.descriptors().for_each_wait(of_source);
  return core.sources->for_each_wait(of_source);
}

Waits find_waits(RuntimeCore& core) {
  Waits waits;
  for_each_wait(core, [&](const Task* task, const WaitText& what, Awaited awaited) {
    waits.operations.emplace(task, what());
    if (awaited == Awaited::tasks) {
      waits.selecting_tasks.insert(task);
    }
  });
  std::vector<Task*>& tasks = waits.tasks;
  for_each_task([&](Task* task) {
    if (owner_of(task) == &core && task != core.root && task->state.load() != TaskState::completed) {
      tasks.push_back(task);
    }
  });
  // Those that are paused first: they are where the others' waiting ends.
  std::sort(tasks.begin(), tasks.end(), [](const Task* left, const Task* right) {
    return (left->state.load() == TaskState::paused) > (right->state.load() == TaskState::paused);
  });
  for (Task* task : tasks) {
    const TaskState state = task->state.load(std::memory_order_acquire);
    waits.waiting_for_others += waits_for_others(task, state, waits) ? 1 : 0;
    const WaitReason reason = reason_of(task);
    if (state == TaskState::paused && (reason == WaitReason::task || waits.selecting_tasks.contains(task))) {
      waits.paused_for_task.push_back(task);
    } else if (state == TaskState::paused && waits_for_resume(reason)) {
      waits.paused_for_resume.push_back(task);
    } else if (state == TaskState::paused && reason == WaitReason::operation) {
      ++waits.waiting_for_operations;
    } else if (state == TaskState::onready ||
               (state == TaskState::returned && task->children.load(std::memory_order_relaxed) == 0)) {
      ++waits.waiting_for_events;
    }
  }
  return waits;
}

std::string list_of(std::size_t count, const std::function<std::string(std::size_t)>& line) {
  std::string text;
  for (std::size_t i = 0; i < count && i < most_reported; ++i) {
    text += "\n  " + line(i);
  }
  if (count > most_reported) {
    text += "\n  and " + std::to_string(count - most_reported) + " more";
  }
  return text;
}

std::string list_of(const Waits& waits, std::string (*describe_one)(const Task*, const Waits&)) {
  return list_of(waits.tasks.size(), [&](std::size_t i) { return describe_one(waits.tasks[i], waits); });
}

}  // namespace dovetail::tasking
