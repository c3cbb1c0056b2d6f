// What a call of a task returns to Python.
#pragma once

#include <Python.h>

#include <chrono>

#include "call.hpp"
#include "dovetail/future.hpp"
#include "held.hpp"

namespace dovetail::python {

/// The result of a task, or one item of it.
class Future : public FutureBase {
 public:
  Future(FutureBase task, CallReference call) : FutureBase(std::move(task)), call_(std::move(call)) {}
  Future(const Future& whole, Held key) : FutureBase(whole), call_(whole.call_), key_(std::move(key)) {}

  const CallReference& call() const noexcept { return call_; }
  /// Waits without the interpreter; fails as the task did.
  void finish() const;
  /// As `finish`, but a failure counts as not noticed. Returns whether the task has completed in that time.
  bool finish_quietly(std::chrono::nanoseconds at_most = std::chrono::nanoseconds::max()) const;
  /// Has an eventfd written to when the task has completed; false if it has.
  bool notify(int descriptor) const;
  /// The value. The task has completed without failure, and the caller holds the interpreter.
  Held value() const;

 private:
  CallReference call_;
  Held key_;  ///< Of the item.
};

/// The Python type of futures, once it is bound (future_binding.hpp). It has no subtypes.
PyTypeObject* future_type() noexcept;

}  // namespace dovetail::python
