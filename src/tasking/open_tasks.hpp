// I/O tasks of which no gate says how many may run at once.
#pragma once

#include <sys/types.h>

#include "tasking/task.hpp"

namespace dovetail::tasking {

/// Whether it is one of them.
bool is_open(const Task* task) noexcept;
/// Whether a paused task keeps its place: it waits for its time, and so for no other task. Any thread.
bool keeps_its_place(const Task* task) noexcept;

/// What a thread of this process does now, as the kernel says.
enum class Activity {
  computes,     ///< Or could, if a core were free; it may be spinning until another thread does something.
  uses_a_file,  ///< Is in a call that waits for a file, and for no other thread.
  waits,        ///< For anything else, or nothing is known.
};
/// Costs some ten microseconds.
Activity activity_of(pid_t thread);

/// With how many places open tasks begin, if the program does not say how many executors it wants: twice the workers are twice the writers
/// that it would have without I/O tasks, and four are one that fills its buffers for each one that uses the device.
unsigned places_to_begin_with(const Options& options) noexcept;

}  // namespace dovetail::tasking
