#include "computing_bodies.hpp"

#include <nanobind/nanobind.h>
#include <pthread.h>

#include <atomic>

namespace nb = nanobind;

namespace dovetail::python {
namespace {

PyObject* computing_reporter = nullptr;  // never freed
std::atomic<int> computing{0};
std::atomic<bool> told_of_several{false};
thread_local bool is_counted = false;  // the body that runs on this thread

// Returns what the reporter says: whether it wants to hear of the end.
bool tell_reporter(bool several) {
  if (computing_reporter == nullptr) {
    return false;
  }
  // A body that ends may have an exception on its way.
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyObject* const answer = PyObject_CallFunctionObjArgs(computing_reporter, several ? Py_True : Py_False, nullptr);
  if (answer == nullptr) {
    PyErr_WriteUnraisable(computing_reporter);
  }
  const bool wants_the_end = answer == Py_True;
  Py_XDECREF(answer);
  PyErr_Restore(type, value, traceback);
  return wants_the_end;
}

void set_counted(bool computes) {
  if (is_counted == computes) {
    return;
  }
  is_counted = computes;
  if (computes) {
    if (computing.fetch_add(1, std::memory_order_relaxed) == 1 && !told_of_several.load(std::memory_order_relaxed)) {
      told_of_several.store(tell_reporter(true), std::memory_order_relaxed);
    }
  } else if (computing.fetch_sub(1, std::memory_order_relaxed) == 1 && told_of_several.exchange(false)) {
    tell_reporter(false);
  }
}

}  // namespace

ComputingBody::ComputingBody(bool computes) : outer_(is_counted) { set_counted(computes); }
ComputingBody::~ComputingBody() { set_counted(outer_); }

NotComputing::NotComputing() : counted_(is_counted) { set_counted(false); }
NotComputing::~NotComputing() { set_counted(counted_); }

void bind_computing_bodies(nb::module_& module) {
  // The other bodies are not in the child of a fork.
  pthread_atfork(nullptr, nullptr, [] { computing.store(is_counted ? 1 : 0); });
  module.def(
      "set_computing_reporter", [](nb::object function) { computing_reporter = function.release().ptr(); },
      nb::arg("reporter"),
      "What is called with True when a second body computes while one does, and, if it returned True, with False when "
      "none does any more.");
}

}  // namespace dovetail::python
