// Which thread holds the interpreter. See docs/design/python.md.
//
// Every Python body that has begun and not ended has a thread state of its own. So the frames of a paused body do not mix with those
// of the body that runs meanwhile on the same operating-system thread. States belong to their thread, and Python tasks are tied:
// a body goes on where it began.
#pragma once

#include <Python.h>

#include <chrono>
#include <cstddef>
#include <optional>

#include "computing_bodies.hpp"
#include "dovetail/detail/body.hpp"

namespace dovetail::python {

/// Gives the calling worker or executor the interpreter, with a state that no other body uses.
void enter_body();
/// The body is over. A compute worker keeps the interpreter for the next body, until it has something else to do or another thread asks.
void leave_body();

/// While it lives the calling thread, whatever it does otherwise, has the interpreter: for a short call out of the runtime that is no body.
class Locked {
 public:
  Locked();
  ~Locked();
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  const bool kept_;     ///< It had, from a body that is over.
  const bool entered_;  ///< That, or it had not.
};

/// While it lives the calling thread does without the interpreter; the task, if there is one, may pause. Does nothing on a
/// thread that does not hold the interpreter.
class Unlocked {
 public:
  Unlocked();
  ~Unlocked();
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  std::optional<NotComputing> not_computing_;  ///< First: it begins and ends with the interpreter held.
  PyThreadState* state_;
  PyThreadState* outer_;
};

/// While it lives, waits of the calling thread outside of any task end by `tasking::WaitInterrupted` once the time has come.
class WaitsUntil {
 public:
  explicit WaitsUntil(std::chrono::steady_clock::time_point deadline);
  ~WaitsUntil();
  WaitsUntil(const WaitsUntil&) = delete;
  WaitsUntil& operator=(const WaitsUntil&) = delete;
};

/// Whether the calling thread holds the interpreter.
bool holds_interpreter() noexcept;

/// Work outside of the runtime (in worker processes, in an event loop) that will end a task. While there is any, a runtime in which nothing
/// runs is not stuck.
void add_outside_work(std::ptrdiff_t count) noexcept;

/// Has every runtime that starts from now on release the interpreter before its workers do something else. Once.
void register_interpreter_service();

}  // namespace dovetail::python
