#include "future_binding.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dovetail/select.hpp"
#include "failure.hpp"
#include "future.hpp"
#include "resolve.hpp"
#include "seconds.hpp"
#include "thread_state.hpp"

namespace nb = nanobind;

namespace dovetail::python {
namespace {

nb::object result_of(nb::handle_t<Future> future) {
  return translated([&] { return nb::steal<nb::object>(resolve(future.ptr()).release()); });
}

// A function and the future that it is called with.
struct Callback {
  Held function;
  Held future;

  void call() const {
    if (Py_IsInitialized() == 0) {
      return;
    }
    const Locked locked;
    if (!Held::adopt(PyObject_CallOneArg(function.get(), future.get()))) {
      PyErr_WriteUnraisable(function.get());
    }
  }
};

void add_done_callback(nb::handle_t<Future> future, nb::handle function) {
  if (PyCallable_Check(function.ptr()) == 0) {
    throw nb::type_error("a callback must be callable");
  }
  const auto callback = std::make_shared<Callback>(Held::share(function.ptr()), Held::share(future.ptr()));
  nb::inst_ptr<Future>(future)->when_completed([callback] { callback->call(); });
}

std::optional<std::size_t> wait_for_any(const nb::iterable& futures, std::optional<double> timeout) {
  std::vector<Alternative> all;
  for (const nb::handle item : futures) {
    if (Py_TYPE(item.ptr()) != future_type()) {
      throw nb::type_error((std::string("wait_for_any() waits for futures, not for a value of type '") +
                            Py_TYPE(item.ptr())->tp_name + "'")
                               .c_str());
    }
    all.emplace_back(*nb::inst_ptr<Future>(item));
  }
  return translated([&] {
    const WaitLimits limits{.at_most = nanoseconds_of(timeout), .stop = {}};
    const Unlocked unlocked;
    return select(all, limits);
  });
}

}  // namespace

void bind_future(nb::module_& module) {
  nb::class_<Future>(module, "Future", nb::is_final(),
                     "The result of a task that may not have run yet. Passed to another task, it makes that task wait.")
      .def("result", &result_of, "Waits for the task and returns its result. Raises TaskFailed if it failed.")
      .def(
          "wait",
          [](const Future& future, std::optional<double> timeout) {
            return translated([&] { return future.finish_quietly(nanoseconds_of(timeout)); });
          },
          nb::arg("timeout").none() = nb::none(),
          "Waits for the task, failed or not. Returns whether it has completed.")
      .def("add_done_callback", &add_done_callback, nb::arg("callback"),
           "Has callback(future) called once when the task has completed, failed or not.")
      .def("done", &Future::ready, "Whether the task has completed, failed or been cancelled. Does not wait.")
      .def(
          "cancel", [](const Future& future) { future.cancel(); },
          "Asks that the task does not run. One that runs can see it by dovetail.cancelled().")
      .def_prop_ro(
          "label", [](const Future& future) { return future.call()->signature->label; }, "The label of the task.")
      .def(
          "_item",
          [](const Future& future, nb::object key) { return Future(future, Held::adopt(key.release().ptr())); },
          nb::arg("key"), "The future of one item of the result.")
      .def("_notify", &Future::notify, nb::arg("descriptor"),
           "Has an eventfd written to when the task has completed; False if it already has.");
  module.def("wait_for_any", &wait_for_any, nb::arg("futures"), nb::arg("timeout").none() = nb::none(),
             "Waits until the task of one of these futures has completed, and returns its place.");
}

}  // namespace dovetail::python
