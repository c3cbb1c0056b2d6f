// From arguments with futures in them to arguments with values.
#pragma once

#include <Python.h>

#include "held.hpp"

namespace dovetail::python {

/// `object` with each future replaced by its value, also inside of lists, tuples and dictionaries. Containers without futures stay
/// what they are; others are copied. May pause. Throws `TaskFailed` or `PythonError`.
Held resolve(PyObject* object);

}  // namespace dovetail::python
