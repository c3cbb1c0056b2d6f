// Locks, semaphores, latches and barriers that pause a task, and waiting for the first of several things.
#pragma once

namespace nanobind {
class module_;
}

namespace dovetail::python {

void bind_synchronization(nanobind::module_& module);

}  // namespace dovetail::python
