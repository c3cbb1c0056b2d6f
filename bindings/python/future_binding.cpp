#include "future_binding.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "failure.hpp"
#include "future.hpp"
#include "resolve.hpp"

namespace nb = nanobind;

namespace dovetail::python {
namespace {

nb::object result_of(nb::handle_t<Future> future) {
  return translated([&] { return nb::steal<nb::object>(resolve(future.ptr()).release()); });
}

// Tells an event loop, which has no thread to spare for waiting.
bool notify(const Future& future, int descriptor) {
  return future.call()->when_completed([descriptor] {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(descriptor, &one, sizeof(one));
  });
}

}  // namespace

void bind_future(nb::module_& module) {
  nb::class_<Future>(module, "Future", nb::is_final(),
                     "The result of a task that may not have run yet. Passed to another task, it makes that task wait.")
      .def("result", &result_of, "Waits for the task and returns its result. Raises TaskFailed if it failed.")
      .def(
          "wait", [](const Future& future) { translated([&] { future.finish_quietly(); }); },
          "Waits for the task, failed or not.")
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
      .def("_notify", &notify, nb::arg("descriptor"),
           "Has an eventfd written to when the task is about to complete; False if it already is.");
}

}  // namespace dovetail::python
