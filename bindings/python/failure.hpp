// Exceptions on their way from Python through the runtime and back.
#pragma once

#include <Python.h>

#include <exception>
#include <memory>
#include <stdexcept>
#include <string>

#include "dovetail/failure.hpp"
#include "held.hpp"

namespace nanobind {
class module_;
}

namespace dovetail::python {

/// Which task an exception comes from.
struct Origin {
  std::string label;
  std::string made_at;  ///< The call that made the task, as tracebacks have it. Empty: not known.
};

/// A Python exception inside the runtime.
class PythonError : public std::runtime_error {
 public:
  PythonError(Held exception, const std::string& text, Origin origin = {})
      : std::runtime_error(text), content_(std::make_shared<Content>(std::move(exception), std::move(origin))) {}
  PyObject* exception() const noexcept { return content_->exception.get(); }
  const Origin& origin() const noexcept { return content_->origin; }

 private:
  struct Content {
    Content(Held held, Origin from) : exception(std::move(held)), origin(std::move(from)) {}
    Held exception;
    Origin origin;
  };
  std::shared_ptr<const Content> content_;
};

/// Throws the Python error that is set, as `PythonError`.
[[noreturn]] void throw_python_error(Origin origin = {});
/// Takes over a new reference that Python has returned; throws the error that Python has set if there is none.
inline Held checked(PyObject* object) {
  if (object == nullptr) {
    throw_python_error();
  }
  return Held::adopt(object);
}
/// The same of a call that returns 0 when it was well.
inline void checked(int status) {
  if (status != 0) {
    throw_python_error();
  }
}
/// As a `PythonError` that is not thrown.
std::exception_ptr exception_of(Held exception, Origin origin = {});

/// Whether the program cancelled the task, or a task whose result it needs. False if a body failed.
bool only_cancelled(const TaskFailed& failure);
/// Throws what the failure began with, as `PythonError`; the failure itself if that is all there is. The caller holds the interpreter.
[[noreturn]] void rethrow_root_cause(const TaskFailed& failure);
/// Takes over the Python error that is set. The caller holds the interpreter.
Held fetch_python_error();

/// Sets the Python error that says what the exception being handled says. To be called in a `catch (...)`, with the interpreter.
void set_python_error() noexcept;
/// Calls `action` and has whatever it throws become a Python error, thrown as nanobind wants it. The caller holds the interpreter
/// before and after; what `action` does about it meanwhile is its own.
template <class Action>
auto translated(const Action& action);

/// Tells the module which Python classes stand for failures.
void bind_failure(nanobind::module_& module);

}  // namespace dovetail::python

#include <nanobind/nanobind.h>

template <class Action>
auto dovetail::python::translated(const Action& action) {
  try {
    return action();
  } catch (const nanobind::python_error&) {
    throw;
  } catch (const nanobind::builtin_exception&) {
    throw;
  } catch (...) {
    set_python_error();
  }
  throw nanobind::python_error();
}
