#include "tasking/stuck.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <vector>

#include "tasking/core.hpp"
#include "tasking/label.hpp"
#include "tasking/lifecycle.hpp"
#include "tasking/pause.hpp"
#include "tasking/quiet.hpp"
#include "tasking/waiters.hpp"
#include "tasking/waiting_line.hpp"
#include "tasking/waits.hpp"

namespace dovetail::tasking {
namespace {

// Takes all of the tasks out of what they wait for before it wakes the first. A woken task may end the waits of others, which then
// run, complete and are gone. A task that was taken out stays, since only this thread can wake it.
void tell(RuntimeCore& core, const Waits& waits, std::vector<Task*> told) {
  for (Task* task : waits.paused_for_resume) {
    ResumeState expected = ResumeState::awaited;
    if (task->resume_state.compare_exchange_strong(expected, ResumeState::none) || leave_line(task) ||
        core.selections.give_up(task)) {
      told.push_back(task);
    }
  }
  if (waits.paused_for_resume.empty()) {
    std::copy_if(waits.paused_for_task.begin(), waits.paused_for_task.end(), std::back_inserter(told), [&](Task* task) {
      return waits.selecting_tasks.contains(task) ? core.selections.give_up(task) : abandon_wait(task);
    });
  }
  for (Task* task : told) {
    task->deliver_stuck = 1;
  }
  for (Task* task : told) {
    wake(task);
  }
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
  Waits waits;
  {
    const LabelsHeld labels;
    waits = find_waits(core);
    // A thread outside may still resume, fulfill or complete. Tasks that wait only for each other have no such thread.
    const bool outside =
        !waits.paused_for_resume.empty() || waits.waiting_for_events > 0 || waits.waiting_for_operations > 0;
    if (outside) {
      if (core.options.stuck_after.count() == 0) {
        return base::TimePoint::max();
      }
      if (now < since + core.options.stuck_after) {
        return since + core.options.stuck_after;
      }
    }
    text = "stuck: " + std::to_string(waits.tasks.size()) + " task(s) can never run" + list_of(waits, describe_stuck);
  }
  if (waits.tasks.empty() || !nothing_can_run(core)) {
    return now + first_look_when_quiet;
  }
  std::vector<Task*> told;
  told.reserve(waits.tasks.size());  // if this throws, all tasks still wait, and the reactor looks again
  declare(core, std::move(text));
  core.stuck.note_not_quiet();
  tell(core, waits, std::move(told));
  return now + first_look_when_quiet;
}

}  // namespace

base::TimePoint look_whether_stuck(RuntimeCore& core) {
  if (!somebody_waits(core)) {
    core.stuck.activity();
    return base::TimePoint::max();
  }
  if (something_is_under_way(core)) {
    core.stuck.note_not_quiet();
    return base::TimePoint::max();
  }
  return declare_if_stuck(core, base::Clock::now());
}

}  // namespace dovetail::tasking
