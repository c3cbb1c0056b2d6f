#include "ending.hpp"

#include <nanobind/nanobind.h>

#include <cerrno>
#include <exception>

#include "attempt.hpp"
#include "failure.hpp"
#include "tasking/pause.hpp"
#include "thread_state.hpp"

namespace nb = nanobind;

namespace dovetail::python {
namespace {

/// Ends its task once. An ending that is dropped unused fails the task.
class Ending {
 public:
  explicit Ending(CallReference call) : call_(std::move(call)), task_(tasking::bind_event()) { add_outside_work(1); }
  Ending(const Ending&) = delete;
  Ending& operator=(const Ending&) = delete;
  ~Ending() {
    if (task_ != nullptr) {
      end(std::make_exception_ptr(std::runtime_error("whoever was to end this task has forgotten it")));
    }
  }

  /// With the Python error that is set, unless it has been ended.
  void fail_to_begin() {
    try {
      throw_python_error(origin_of(*call_));
    } catch (const PythonError& error) {
      if (task_ != nullptr) {
        attempt_failed(*call_, task_, error.exception());
        end(std::current_exception());
      }
    }
  }
  void give(nb::handle value) {
    if (task_ == nullptr) {
      throw nb::value_error("this task has been ended already");
    }
    try {
      require_values(*call_, value.ptr());
    } catch (const PythonError& error) {
      attempt_failed(*call_, task_, error.exception());
      end(std::current_exception());
      return;
    }
    call_->result = Held::share(value.ptr());
    end(nullptr);
  }
  void fail(nb::handle exception) {
    if (task_ == nullptr) {
      throw nb::value_error("this task has been ended already");
    }
    attempt_failed(*call_, task_, exception.ptr());
    end(exception_of(Held::share(exception.ptr()), origin_of(*call_)));
  }
  bool ended() const { return task_ == nullptr; }
  void postpone() { call_->postpone(); }
  bool begin() { return call_->begin_postponed(task_ != nullptr && tasking::cancel_requested(task_)); }
  /// The body was kept from beginning.
  void drop() {
    if (task_ != nullptr) {
      end(std::make_exception_ptr(IoError(ECANCELED, "the start", call_->signature->label, 0, 0)));
    }
  }
  bool cancelled() const { return task_ != nullptr && tasking::cancel_requested(task_); }

 private:
  void end(std::exception_ptr cause) {
    detail::Task* const task = std::exchange(task_, nullptr);
    const Unlocked unlocked;
    tasking::fulfill_event(task, std::move(cause));
    add_outside_work(-1);
  }

  CallReference call_;
  detail::Task* task_;
};

}  // namespace

Held make_ending(const CallReference& call) {
  return Held::adopt(nb::cast(new Ending(call), nb::rv_policy::take_ownership).release().ptr());
}

void fail_ending(PyObject* ending) { nb::inst_ptr<Ending>(ending)->fail_to_begin(); }

void bind_ending(nb::module_& module) {
  nb::class_<Ending>(module, "Ending", "Ends a task that runs elsewhere.")
      .def("give", &Ending::give, nb::arg("value").none(), "The task's result.")
      .def("fail", &Ending::fail, nb::arg("exception"), "Why the task failed.")
      .def("postpone", &Ending::postpone,
           "What runs the body has not begun yet. Until `begin`, the task can be cancelled.")
      .def("begin", &Ending::begin, "The body begins. False: it must not, the task was cancelled; `drop` ends it.")
      .def("drop", &Ending::drop, "Ends the task as one that was cancelled.")
      .def_prop_ro("cancelled", &Ending::cancelled, "Whether somebody asked the task to stop. False once it has ended.")
      .def_prop_ro("ended", &Ending::ended, "Whether it has been used.");
}

}  // namespace dovetail::python
