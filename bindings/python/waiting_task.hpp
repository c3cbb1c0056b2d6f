// Waits of the runtime that block a thread outside of tasks without a look at signals.
#pragma once

#include <exception>

#include "dovetail/failure.hpp"
#include "dovetail/runtime.hpp"
#include "runtime.hpp"
#include "tasking/pause.hpp"
#include "thread_state.hpp"

namespace dovetail::python {

/// Calls `wait` without the interpreter. Outside of tasks a task does it, for which the thread waits: such a wait ends when Ctrl-C is pressed.
template <class Wait>
auto in_waiting_task(const Wait& wait) {
  if (tasking::current_task() != nullptr) {
    const Unlocked unlocked;
    return wait();
  }
  // Of I/O: it is no matter how long the bodies compute that have all workers.
  const auto waits = current_or_default_runtime().spawn({.label = "dovetail.rma", .io = true}, wait);
  const Unlocked unlocked;
  try {
    return waits.get();
  } catch (const TaskFailed& failure) {
    if (failure.cause() != nullptr) {
      std::rethrow_exception(failure.cause());
    }
    throw;
  }
}

}  // namespace dovetail::python
