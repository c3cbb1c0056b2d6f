// What follows when an attempt to run a task has ended, by a value or an exception.
#pragma once

#include <Python.h>

#include "call.hpp"

namespace nanobind {
class module_;
}

namespace dovetail::python {

/// To be called before the task is told of the exception: it is not run again if the options say so. Tells the package. The caller holds the
/// interpreter.
void attempt_failed(Call& call, detail::Task* task, PyObject* exception);
/// Pauses the task until its next attempt is due. The caller does not hold the interpreter.
/// @throws IoError (ECANCELED) when the task has been cancelled meanwhile.
void wait_for_attempt(const Call& call);
/// Throws a `PythonError` if a result does not have as many values as the options of the task say. The caller holds the interpreter.
void require_values(const Call& call, PyObject* result);
void bind_attempt(nanobind::module_& module);

}  // namespace dovetail::python
