// What libgomp needs so that events may be fulfilled by a thread that is not its own. docs/design/openmp.md describes the two
// faults and proves the ways around them.
#pragma once

struct dovetail_omp_task;

namespace dovetail::omp::libgomp {

/// Whether it is libgomp whose tasks these are.
bool in_use() noexcept;

/// First fault. Whether the task whose body calls this would be taken for completed when its body returns, although its event
/// has not been fulfilled. On the thread that runs the body.
bool detach_is_ignored_here() noexcept;

/// Second fault: a team that sleeps in a barrier does not notice that a foreign thread has fulfilled the last event. An alarm is
/// a pair of tasks, the second of which becomes ready when `ring_alarm` is called after that: the team then wakes to run it.
/// In the body of the task, while its count is above one and holds the body's share. False: libgomp has too many tasks to
/// give us two more, and the body must wait instead.
bool arm_alarm(dovetail_omp_task& task) noexcept;
/// The duty of who takes the count to one while `body_arms` is set: the body may be held up until this has been called.
void disarm_alarm(dovetail_omp_task& task) noexcept;
/// Whether the value of `dovetail_omp_task::alarm` is one to ring.
bool is_armed(unsigned long alarm) noexcept;

}  // namespace dovetail::omp::libgomp
