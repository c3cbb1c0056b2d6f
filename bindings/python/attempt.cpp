#include "attempt.hpp"

#include <nanobind/nanobind.h>

#include <array>
#include <cerrno>
#include <cmath>

#include "dovetail/select.hpp"
#include "dovetail/synchronization.hpp"
#include "dovetail/this_task.hpp"
#include "failure.hpp"
#include "seconds.hpp"
#include "tasking/task.hpp"

namespace nb = nanobind;

namespace dovetail::python {
namespace {

PyObject* failure_reporter = nullptr;  // never freed

bool matches(const Call& call, PyObject* exception) {
  const Held& classes = call.signature->retry_on;
  return !classes || PyErr_GivenExceptionMatches(exception, classes.get()) != 0;
}

// Twice as long before each that follows; nothing before the first.
double delay_before_next(const Call& call) noexcept {
  return call.attempt == 0 ? 0 : std::ldexp(call.signature->retry_delay, static_cast<int>(call.attempt) - 1);
}

void tell_package(const Call& call, PyObject* exception, bool again) {
  if (failure_reporter == nullptr) {
    return;
  }
  const Origin origin = origin_of(call);
  const Held told =
      Held::adopt(PyObject_CallFunction(failure_reporter, "ssOIOd", origin.label.c_str(), origin.made_at.c_str(),
                                        exception, call.attempt, again ? Py_True : Py_False, delay_before_next(call)));
  if (!told) {
    PyErr_WriteUnraisable(failure_reporter);
  }
}

}  // namespace

void wait_for_attempt(const Call& call) {
  const double delay = delay_before_next(call);
  if (delay <= 0) {
    return;
  }
  Latch never(1);
  const std::array<Alternative, 1> alternatives{never};
  select(alternatives, {.at_most = nanoseconds_of(delay), .stop = this_task::stop_token()});
  if (this_task::cancelled()) {
    throw IoError(ECANCELED, "the next attempt", call.signature->label, 0, 0);
  }
}

void attempt_failed(Call& call, detail::Task* task, PyObject* exception) {
  bool again = call.attempt <= call.signature->on_failure.retries;
  if (again && !matches(call, exception)) {
    again = false;
    task->extra->attempts = task->extra->on_failure.retries;
  }
  tell_package(call, exception, again);
}

void require_values(const Call& call, PyObject* result) {
  const Py_ssize_t expected = call.signature->returns;
  if (expected <= 1) {
    return;
  }
  const char* const label = call.signature->label.c_str();
  const Py_ssize_t count = PyObject_Size(result);
  if (count < 0) {
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "task '%s' has returns=%zd, and returned one value of type '%s'", label, expected,
                 Py_TYPE(result)->tp_name);
    throw_python_error(origin_of(call));
  }
  if (count != expected) {
    PyErr_Format(PyExc_ValueError, "task '%s' has returns=%zd, and returned %zd values", label, expected, count);
    throw_python_error(origin_of(call));
  }
}

void bind_attempt(nb::module_& module) {
  module.def(
      "set_failure_reporter", [](nb::object reporter) { failure_reporter = reporter.release().ptr(); },
      nb::arg("reporter"),
      "What is called when a body has failed: with its label, the call that made the task, the exception, the number "
      "of the attempt, "
      "whether there will be another one, and after how many seconds.");
}

}  // namespace dovetail::python
