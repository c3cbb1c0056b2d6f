// How a task that runs elsewhere (in a worker process, in an event loop) is ended.
#pragma once

#include "call.hpp"
#include "held.hpp"

namespace nanobind {
class module_;
}

namespace dovetail::python {

/// A Python object `Ending` that holds one event of the current task.
Held make_ending(const CallReference& call);
/// The work that was to end the task could not be begun: fails the task with the Python error that is set.
void fail_ending(PyObject* ending);
void bind_ending(nanobind::module_& module);

}  // namespace dovetail::python
