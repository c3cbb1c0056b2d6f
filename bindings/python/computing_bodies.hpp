// How many bodies compute at the same time: libraries with threads of their own get fewer while there are several.
#pragma once

namespace nanobind {
class module_;
}

namespace dovetail::python {

/// Lives while the body of a task runs on a worker. Bodies of I/O tasks, and those that run elsewhere, do not count. It is made and destroyed by the thread of the
/// body, which holds the interpreter.
class ComputingBody {
 public:
  explicit ComputingBody(bool computes);
  ~ComputingBody();
  ComputingBody(const ComputingBody&) = delete;
  ComputingBody& operator=(const ComputingBody&) = delete;

 private:
  const bool outer_;  ///< Whether the body counts in which this one runs.
};

/// Lives while the calling thread does without the interpreter: its body, if there is one, does not compute. Another body may run on that thread meanwhile. It is made and
/// destroyed with the interpreter held.
class NotComputing {
 public:
  NotComputing();
  ~NotComputing();
  NotComputing(const NotComputing&) = delete;
  NotComputing& operator=(const NotComputing&) = delete;

 private:
  const bool counted_;
};

void bind_computing_bodies(nanobind::module_& module);

}  // namespace dovetail::python
