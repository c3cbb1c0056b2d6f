// What a call of a task returns to Python.
#pragma once

#include <Python.h>

#include "call.hpp"
#include "dovetail/future.hpp"
#include "held.hpp"
#include "seconds.hpp"

namespace dovetail::python {

/// The result of a task, or one item of it. All functions need the interpreter.
class Future : public FutureBase {
 public:
  Future(FutureBase task, CallReference call) : FutureBase(std::move(task)), call_(std::move(call)) {}
  Future(const Future& whole, Held key) : FutureBase(whole), call_(whole.call_), key_(std::move(key)) {}

  const CallReference& call() const noexcept { return call_; }
  /// Waits without the interpreter; fails as the task did.
  /// @throws TimedOut
  void finish(const Deadline& deadline = {}) const;
  /// As `finish`, but a failure counts as not noticed. Returns whether the task is done by then.
  bool finish_quietly(const Deadline& deadline = {}) const;
  /// Whether the task has completed, or was cancelled before its body began.
  bool done() const noexcept { return ready() || call_->stage.load() == Stage::cancelled; }
  /// Whether the program cancelled it before its body began, or a task whose result it needs. False if a body failed.
  bool cancelled() const;
  /// Whether it has completed by a failure, or was cancelled.
  bool failed() const noexcept;
  /// Keeps the task from beginning, and returns true. False: it has begun or completed; one that runs is asked to stop.
  bool try_cancel() const;
  /// Has an eventfd written to when the task has completed; false if it is done.
  bool notify(int descriptor) const;
  /// The value. The task has completed without failure.
  Held value() const;

 private:
  [[noreturn]] void throw_cancelled() const;

  CallReference call_;
  Held key_;  ///< Of the item.
};

/// The Python type of futures: the class of the package, which `set_future_class` has told. It has no subtypes.
PyTypeObject* future_type() noexcept;
inline bool is_future(PyObject* object) noexcept { return Py_TYPE(object) == future_type(); }
/// Of an object for which `is_future` says yes.
const Future& future_of(PyObject* object) noexcept;
/// A new Python object.
Held make_future(Future future);

}  // namespace dovetail::python
