// What libgomp needs so that a thread which is not its own may fulfil events. docs/design/openmp.md describes the two faults and proves the ways
// around them.
#pragma once

struct dovetail_omp_task;

namespace dovetail::omp::libgomp {

/// Whether it is libgomp whose tasks these are.
bool in_use() noexcept;

/// First fault. Whether the task whose body calls this would be taken for completed when its body returns, although its event
/// has not been fulfilled. On the thread that runs the body.
bool detach_is_ignored_here() noexcept;

/// Second fault: a team that sleeps in a barrier does not notice that a foreign thread has fulfilled the last event. An alarm is
/// a pair of tasks. The second one becomes ready when `ring_alarm` is called after that, and the team wakes to run it.
/// To be called in the body of the task, while its count is above one and holds the body's share. False: libgomp has too many tasks to
/// give us two more, and the body must wait instead.
bool arm_alarm(dovetail_omp_task& task) noexcept;
/// Must be called by the thread that takes the count to one while `body_arms` is set: the body may wait for it.
void disarm_alarm(dovetail_omp_task& task) noexcept;
/// Whether the value of `dovetail_omp_task::alarm` is one to ring.
bool is_armed(unsigned long alarm) noexcept;

}  // namespace dovetail::omp::libgomp
