#include "tasking/stuck.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tasking/core.hpp"
#include "tasking/dependency_node.hpp"
#include "tasking/label.hpp"
#include "tasking/lifecycle.hpp"
#include "tasking/pause.hpp"
#include "tasking/quiet.hpp"
#include "tasking/waiting.hpp"
#include "tasking/waiting_line.hpp"
#include "tasking/worker.hpp"

namespace dovetail::tasking {
namespace {

constexpr std::size_t most_reported = 20;

struct Finding {
  std::vector<Task*> paused_for_resume;
  std::vector<Task*> paused_for_task;
  std::unordered_set<const Task*> selecting_tasks;  ///< Those in a selection of nothing but tasks.
  std::size_t waiting_for_events = 0;
  std::size_t waiting_for_operations = 0;  ///< Where nothing can run, of sources of other runtimes.
  std::size_t waiting_for_others =
      0;  ///< For what may never come: a resume, an event, a descriptor, an operation of a source.
  std::vector<Task*> tasks;
  std::unordered_map<const Task*, std::string> operations;  ///< What sources say of those that wait for them.
};

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

// What a task that has not started waits for is known only to those it waits for: all live nodes are searched.
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

// What is known of a task even if somebody wakes it meanwhile: its label, its state, and what sources say of it.
std::string describe_while_others_run(const Task* task, const Finding& finding) {
  const std::string name = std::string("task ").append(quoted(task));
  if (const auto operation = finding.operations.find(task); operation != finding.operations.end()) {
    const bool returned = task->state.load(std::memory_order_relaxed) == TaskState::returned;
    return name + (returned ? " has returned and waits for " : " waits for ") + operation->second;
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

// Nothing runs, and nobody can wake any of the tasks.
std::string describe(const Task* task, const Finding& finding) {
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
      return describe_while_others_run(task, finding);
    default:
      return describe_while_others_run(task, finding);
  }
}

WaitReason reason_of(Task* task) noexcept {
  return std::atomic_ref<WaitReason>(task->wait_reason).load(std::memory_order_relaxed);
}

// By another task, or by a thread that the runtime does not know.
bool waits_for_resume(WaitReason reason) noexcept {
  return reason == WaitReason::resume || reason == WaitReason::semaphore || reason == WaitReason::latch ||
         reason == WaitReason::barrier || reason == WaitReason::selection;
}

bool waits_for_others(Task* task, TaskState state, const Finding& finding) {
  if (finding.selecting_tasks.contains(task)) {
    return false;
  }
  return finding.operations.contains(task) || state == TaskState::onready ||
         (state == TaskState::paused &&
          (waits_for_resume(reason_of(task)) || reason_of(task) == WaitReason::operation)) ||
         (state == TaskState::returned && task->children.load(std::memory_order_relaxed) == 0);
}

Finding find_waits(RuntimeCore& core) {
  Finding finding;
  const auto note = [&](const Task* task, const std::string& what) { finding.operations.emplace(task, what); };
  core.sources->for_each_wait(note);
  core.selections.for_each_wait([&](const Task* task, const std::string& what, bool only_tasks) {
    note(task, what);
    if (only_tasks) {
      finding.selecting_tasks.insert(task);
    }
  });
  core.reactor.descriptors().for_each_wait(note);
  std::vector<Task*>& tasks = finding.tasks;
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
    finding.waiting_for_others += waits_for_others(task, state, finding) ? 1 : 0;
    const WaitReason reason = reason_of(task);
    if (state == TaskState::paused && (reason == WaitReason::task || finding.selecting_tasks.contains(task))) {
      finding.paused_for_task.push_back(task);
    } else if (state == TaskState::paused && waits_for_resume(reason)) {
      finding.paused_for_resume.push_back(task);
    } else if (state == TaskState::paused && reason == WaitReason::operation) {
      ++finding.waiting_for_operations;
    } else if (state == TaskState::onready ||
               (state == TaskState::returned && task->children.load(std::memory_order_relaxed) == 0)) {
      ++finding.waiting_for_events;
    }
  }
  return finding;
}

template <class Describe>
std::string list_of(const Finding& finding, const Describe& describe_one) {
  std::string text;
  const std::vector<Task*>& tasks = finding.tasks;
  for (std::size_t i = 0; i < tasks.size() && i < most_reported; ++i) {
    text += "\n  " + describe_one(tasks[i], finding);
  }
  if (tasks.size() > most_reported) {
    text += "\n  and " + std::to_string(tasks.size() - most_reported) + " more";
  }
  return text;
}

// Takes the tasks out of what they wait for, all of them before the first is woken: what that one does may end the waits of others,
// which then run, complete and are gone. One that was taken out has nobody but this thread to wake it, so it stays until then.
void tell(RuntimeCore& core, const Finding& finding) {
  std::vector<Task*> told;
  for (Task* task : finding.paused_for_resume) {
    ResumeState expected = ResumeState::awaited;
    if (task->resume_state.compare_exchange_strong(expected, ResumeState::none) || leave_line(task) ||
        core.selections.give_up(task)) {
      told.push_back(task);
    }
  }
  if (finding.paused_for_resume.empty()) {
    std::copy_if(finding.paused_for_task.begin(), finding.paused_for_task.end(), std::back_inserter(told),
                 [&](Task* task) {
                   return finding.selecting_tasks.contains(task) ? core.selections.give_up(task) : abandon_wait(task);
                 });
  }
  for (Task* task : told) {
    task->deliver_stuck = 1;
  }
  for (Task* task : told) {
    wake(task);
  }
}

// Nothing runs, and something may come from outside. If it never does, the program should not wait without a word.
base::TimePoint report_long_wait(RuntimeCore& core, base::TimePoint now) {
  const auto patience = core.options.report_after;
  if (patience.count() == 0) {
    return base::TimePoint::max();
  }
  const base::TimePoint since = core.stuck.note_nothing_runs(now);
  const base::TimePoint due = since + patience * (1U << core.stuck.reports_of_this_wait());
  if (now < due) {
    return due;
  }
  const LabelsHeld labels;
  const Finding finding = find_waits(core);
  if (finding.waiting_for_others == 0) {
    return now + patience;
  }
  const auto seconds = std::chrono::duration<double>(now - since).count();
  std::fprintf(stderr, "dovetail: nothing has run for %.1f s; waiting for%s\n", seconds,
               list_of(finding, describe_while_others_run).c_str());
  return since + patience * (1U << core.stuck.count_report_of_this_wait());
}

void declare(RuntimeCore& core, std::string text) {
  std::fprintf(stderr, "dovetail: %s\n", text.c_str());
  core.stuck.set_report(std::move(text));
  {
    const base::LockGuard lock(core.foreign.mutex);
    core.stuck.count_report();
    core.foreign.changed.notify_all();
  }
  core.selections.give_up_threads();  // after it counts: what they wait for next does not end by this report
}

base::TimePoint declare_if_stuck(RuntimeCore& core, base::TimePoint now) {
  const base::TimePoint since = core.stuck.note_quiet(now);
  if (now < since + first_look_when_quiet) {
    return since + first_look_when_quiet;
  }
  std::string text;
  Finding finding;
  {
    const LabelsHeld labels;
    finding = find_waits(core);
    // Somebody outside may still resume, fulfill or complete; tasks that wait only for each other have nobody.
    const bool outside =
        !finding.paused_for_resume.empty() || finding.waiting_for_events > 0 || finding.waiting_for_operations > 0;
    if (outside) {
      if (core.options.stuck_after.count() == 0) {
        return base::TimePoint::max();
      }
      if (now < since + core.options.stuck_after) {
        return since + core.options.stuck_after;
      }
    }
    text = "stuck: " + std::to_string(finding.tasks.size()) + " task(s) can never run" + list_of(finding, describe);
  }
  if (finding.tasks.empty() || !nothing_can_run(core)) {
    return now + first_look_when_quiet;
  }
  declare(core, std::move(text));
  core.stuck.note_not_quiet();
  tell(core, finding);
  return now + first_look_when_quiet;
}

}  // namespace

base::TimePoint look_whether_stuck(RuntimeCore& core) {
  if (!somebody_waits(core)) {
    core.stuck.activity();
    return base::TimePoint::max();
  }
  const base::TimePoint now = base::Clock::now();
  const base::TimePoint next_report = report_long_wait(core, now);
  if (something_is_under_way(core)) {
    core.stuck.note_not_quiet();
    return next_report;
  }
  return std::min(next_report, declare_if_stuck(core, now));
}

}  // namespace dovetail::tasking
