// From arguments with futures in them to arguments with values.
#pragma once

#include <Python.h>

#include "held.hpp"
#include "seconds.hpp"

namespace dovetail::python {

/// `object` with each future replaced by its value, also inside of containers (`containers.hpp`), at any depth. Containers without
/// futures stay what they are, also where they contain themselves; others are copied, once each. May pause. Throws `TaskFailed`,
/// `TimedOut` or `PythonError`, the latter also for a future whose value contains that future.
Held resolve(PyObject* object, const Deadline& deadline = {});

}  // namespace dovetail::python
