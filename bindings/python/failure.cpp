#include "failure.hpp"

#include <nanobind/nanobind.h>

#include "dovetail/failure.hpp"
#include "dovetail/mpi_error.hpp"
#include "dovetail/rma_error.hpp"
#include "seconds.hpp"
#include "tasking/waiting.hpp"

namespace nb = nanobind;

namespace dovetail::python {
namespace {

// Never freed: a failure may be raised as long as there is an interpreter.
PyObject* task_failed_class = nullptr;
PyObject* task_cancelled_class = nullptr;
PyObject* stuck_class = nullptr;
PyObject* mpi_error_class = nullptr;
PyObject* rma_error_class = nullptr;

Held fetch_error() {
#if PY_VERSION_HEX >= 0x030C0000
  return Held::adopt(PyErr_GetRaisedException());
#else
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback != nullptr) {
    PyException_SetTraceback(value, traceback);
  }
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return Held::adopt(value);
#endif
}

std::string text_of(PyObject* exception) {
  std::string text = Py_TYPE(exception)->tp_name;
  const Held message = Held::adopt(PyObject_Str(exception));
  const char* bytes = message ? PyUnicode_AsUTF8(message.get()) : nullptr;
  if (bytes == nullptr) {
    PyErr_Clear();
  } else if (*bytes != '\0') {
    text += std::string(": ") + bytes;
  }
  return text;
}

void set_error(PyObject* type, const char* text) { PyErr_SetString(type, text); }

Held python_exception_of(const std::exception_ptr& cause) {
  try {
    std::rethrow_exception(cause);
  } catch (const PythonError& error) {
    return Held::share(error.exception());
  } catch (...) {
    set_python_error();
  }
  return fetch_error();
}

// The failure of another task that caused this one, if that is what caused it.
std::exception_ptr failure_behind(const std::exception_ptr& cause, bool& cancelled) {
  try {
    std::rethrow_exception(cause);
  } catch (const TaskFailed& failure) {
    cancelled = failure.cancelled();
    return failure.cause();
  } catch (...) {
    return nullptr;
  }
}

// What the failure began with: the user's exception, below any number of tasks that were cancelled because of it.
Held root_cause(std::exception_ptr cause, Origin& origin) {
  for (;;) {
    std::exception_ptr inner;
    try {
      std::rethrow_exception(cause);
    } catch (const TaskFailed& failure) {
      inner = failure.cause();
    } catch (const PythonError& error) {
      origin = error.origin();
    } catch (...) {
      inner = nullptr;  // the program's own
    }
    if (inner == nullptr) {
      return python_exception_of(cause);
    }
    cause = std::move(inner);
  }
}

}  // namespace

bool only_cancelled(const TaskFailed& failure) {
  bool cancelled = failure.cancelled();
  for (std::exception_ptr cause = failure.cause(); cause != nullptr && cancelled;) {
    cause = failure_behind(cause, cancelled);
  }
  return cancelled;
}

void rethrow_root_cause(const TaskFailed& failure) {
  if (failure.cause() == nullptr) {
    throw TaskFailed(failure);
  }
  Origin origin;
  Held cause = root_cause(failure.cause(), origin);
  std::rethrow_exception(exception_of(std::move(cause), std::move(origin)));
}

Held fetch_python_error() { return fetch_error(); }

namespace {

void raise_task_failed(const TaskFailed& failure) {
  PyObject* const type = only_cancelled(failure) ? task_cancelled_class : task_failed_class;
  Held cause;
  Origin origin;
  if (failure.cause() != nullptr) {
    cause = root_cause(failure.cause(), origin);
  }
  const Held exception = Held::adopt(PyObject_CallFunction(type, "ssOss", failure.what(), failure.label().c_str(),
                                                           failure.cancelled() ? Py_True : Py_False,
                                                           origin.label.c_str(), origin.made_at.c_str()));
  if (!exception) {
    return;
  }
  PyException_SetCause(exception.get(), cause.release());
  PyErr_SetObject(type, exception.get());
}

void raise_io_error(const IoError& error) {
  const Held arguments = Held::adopt(Py_BuildValue("(iss)", error.code().value(), error.what(), error.path().c_str()));
  if (arguments) {
    PyErr_SetObject(PyExc_OSError, arguments.get());
  }
}

void raise_mpi_error(const mpi::Error& error) {
  const Held arguments = Held::adopt(Py_BuildValue("(siisii)", error.what(), error.code(), error.error_class(),
                                                   error.call().c_str(), error.peer(), error.tag()));
  if (arguments) {
    PyErr_SetObject(mpi_error_class, arguments.get());
  }
}

void raise_rma_error(const rma::Error& error) {
  const Held arguments = Held::adopt(Py_BuildValue("(si)", error.what(), error.rank()));
  if (arguments) {
    PyErr_SetObject(rma_error_class, arguments.get());
  }
}

}  // namespace

void throw_python_error(Origin origin) {
  Held exception = fetch_error();
  std::string text = text_of(exception.get());
  throw PythonError(std::move(exception), text, std::move(origin));
}

std::exception_ptr exception_of(Held exception, Origin origin) {
  std::string text = text_of(exception.get());
  return std::make_exception_ptr(PythonError(std::move(exception), text, std::move(origin)));
}

void set_python_error() noexcept {
  try {
    throw;
  } catch (const PythonError& error) {
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.exception())), error.exception());
  } catch (const TaskFailed& failure) {
    raise_task_failed(failure);
  } catch (const tasking::WaitInterrupted&) {
    // The look that ended the wait has left the error of the signal handler.
    if (PyErr_Occurred() == nullptr) {
      PyErr_SetNone(PyExc_KeyboardInterrupt);
    }
  } catch (const IoError& error) {
    raise_io_error(error);
  } catch (const mpi::Error& error) {
    raise_mpi_error(error);
  } catch (const rma::Error& error) {
    raise_rma_error(error);
  } catch (const TimedOut& error) {
    set_error(PyExc_TimeoutError, error.what());
  } catch (const Stuck& error) {
    set_error(stuck_class, error.what());
  } catch (const std::system_error& error) {
    const Held arguments = Held::adopt(Py_BuildValue("(is)", error.code().value(), error.what()));
    PyErr_SetObject(PyExc_OSError, arguments.get());
  } catch (const std::invalid_argument& error) {
    set_error(PyExc_ValueError, error.what());
  } catch (const std::out_of_range& error) {
    set_error(PyExc_IndexError, error.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    set_error(PyExc_RuntimeError, error.what());
  } catch (...) {
    set_error(PyExc_RuntimeError, "an exception that is unknown to Python");
  }
}

void bind_failure(nb::module_& module) {
  module.def(
      "set_failure_classes",
      [](nb::object task_failed, nb::object task_cancelled, nb::object stuck, nb::object mpi_error,
         nb::object rma_error) {
        task_failed_class = task_failed.release().ptr();
        task_cancelled_class = task_cancelled.release().ptr();
        stuck_class = stuck.release().ptr();
        mpi_error_class = mpi_error.release().ptr();
        rma_error_class = rma_error.release().ptr();
      },
      nb::arg("task_failed"), nb::arg("task_cancelled"), nb::arg("stuck"), nb::arg("mpi_error"), nb::arg("rma_error"),
      "Which exceptions say that a task failed, that it was cancelled, that none can ever run, that an operation of "
      "MPI failed, or that "
      "another process has ended.");
}

}  // namespace dovetail::python
