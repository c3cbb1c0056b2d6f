#include "future_binding.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <array>
#include <memory>
#include <new>
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

// nanobind allows its types one base. The class of the package has two, of which one is that of concurrent.futures.
struct FutureObject {
  PyObject_HEAD;
  alignas(Future) std::array<std::byte, sizeof(Future)> place;
  bool made;

  Future& future() noexcept { return *std::launder(reinterpret_cast<Future*>(place.data())); }
};

PyTypeObject* base_type = nullptr;
PyTypeObject* class_of_package = nullptr;
PyObject* report = nullptr;

void free_future(PyObject* object) {
  auto* const self = reinterpret_cast<FutureObject*>(object);
  PyTypeObject* const type = Py_TYPE(object);
  if (self->made) {
    self->future().~Future();
  }
  type->tp_free(object);
  Py_DECREF(type);
}

PyTypeObject* make_base_type() {
  static std::array<PyType_Slot, 3> slots{{
      {Py_tp_doc, const_cast<char*>("What the extension knows of a future.")},
      {Py_tp_dealloc, reinterpret_cast<void*>(&free_future)},
      {0, nullptr},
  }};
  static PyType_Spec spec{"dovetail._core.FutureBase", sizeof(FutureObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots.data()};
  return reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
}

const Future& self_of(nb::handle object) {
  if (PyObject_TypeCheck(object.ptr(), base_type) == 0 || !reinterpret_cast<FutureObject*>(object.ptr())->made) {
    throw nb::type_error("this is no future of a task");
  }
  return future_of(object.ptr());
}

void report_error(PyObject* function, PyObject* future) {
  const Held error = fetch_python_error();
  if (!Held::adopt(PyObject_CallFunctionObjArgs(report, future, function, error.get(), nullptr))) {
    PyErr_WriteUnraisable(function);
  }
}

void call_those_of(Call& call) {
  if (Py_IsInitialized() == 0) {
    return;
  }
  const Locked locked;
  call.callbacks->call();
}

void add_done_callback(nb::handle self, nb::handle function) {
  const Future& future = self_of(self);
  if (PyCallable_Check(function.ptr()) == 0) {
    throw nb::type_error("a callback must be callable");
  }
  if (future.done()) {
    call_back(function.ptr(), self.ptr());
    return;
  }
  Call& call = *future.call();
  const bool first = call.callbacks == nullptr;
  if (first) {
    call.callbacks = std::make_unique<Callbacks>();
  }
  call.callbacks->add(Held::share(function.ptr()), Held::share(self.ptr()));
  if (first) {
    future.when_completed([kept = future.call()] { call_those_of(*kept); });
  }
}

nb::object result(nb::handle self, std::optional<double> timeout) {
  self_of(self);
  return translated([&] { return nb::steal<nb::object>(resolve(self.ptr(), Deadline::after(timeout)).release()); });
}

// The exception that `result` would raise.
nb::object exception(nb::handle self, std::optional<double> timeout) {
  const Future& future = self_of(self);
  translated([&] {
    if (!future.finish_quietly(Deadline::after(timeout))) {
      throw TimedOut("task '" + future.call()->signature->label + "'");
    }
  });
  if (future.cancelled()) {
    translated([&] { future.finish(); });
  }
  try {
    future.finish();
  } catch (...) {
    set_python_error();
    return nb::steal<nb::object>(fetch_python_error().release());
  }
  return nb::none();
}

const char* state_of(const Future& future) {
  if (future.cancelled()) {
    return "cancelled";
  }
  if (future.ready()) {
    return future.failed() ? "failed" : "finished";
  }
  return future.call()->stage.load() == Stage::begun ? "running" : "pending";
}

nb::object refuse_to_pickle_future(nb::handle self) {
  throw nb::type_error(("the future of task '" + self_of(self).call()->signature->label +
                        "' is of one process, and cannot be copied or sent to another; send its result")
                           .c_str());
}

std::optional<std::size_t> wait_for_any(const nb::iterable& futures, std::optional<double> timeout) {
  std::vector<Alternative> all;
  std::optional<std::size_t> cancelled;
  for (const nb::handle item : futures) {
    if (!is_future(item.ptr())) {
      throw nb::type_error((std::string("wait_for_any() waits for futures, not for a value of type '") +
                            Py_TYPE(item.ptr())->tp_name + "'")
                               .c_str());
    }
    const Future& future = future_of(item.ptr());
    if (!cancelled && future.done() && !future.ready()) {
      cancelled = all.size();
    }
    all.emplace_back(future);
  }
  return translated([&] {
    const WaitLimits limits{.at_most = cancelled ? std::chrono::nanoseconds{} : nanoseconds_of(timeout), .stop = {}};
    const Unlocked unlocked;
    const std::optional<std::size_t> first = select(all, limits);
    return first ? first : cancelled;
  });
}

template <class Function, class... More>
void method(const char* name, Function&& function, const More&... more) {
  const nb::handle type(reinterpret_cast<PyObject*>(base_type));
  nb::cpp_function_def(std::forward<Function>(function), nb::scope(type), nb::name(name), nb::is_method(), more...);
}

}  // namespace

PyTypeObject* future_type() noexcept { return class_of_package; }

const Future& future_of(PyObject* object) noexcept { return reinterpret_cast<FutureObject*>(object)->future(); }

Held make_future(Future future) {
  Held object = checked(class_of_package->tp_alloc(class_of_package, 0));
  auto* const self = reinterpret_cast<FutureObject*>(object.get());
  new (self->place.data()) Future(std::move(future));
  self->made = true;
  return object;
}

void call_back(PyObject* function, PyObject* future) {
  if (!Held::adopt(PyObject_CallOneArg(function, future))) {
    report_error(function, future);
  }
}

void bind_future(nb::module_& module) {
  base_type = make_base_type();
  if (base_type == nullptr) {
    throw nb::python_error();
  }
  module.attr("FutureBase") = nb::handle(reinterpret_cast<PyObject*>(base_type));
  const auto timeout = nb::arg("timeout").none() = nb::none();
  method("result", &result, timeout, "Waits for the task and returns its result. Raises TaskFailed if it failed.");
  method("exception", &exception, timeout, "Waits for the task and returns the exception that `result` would raise.");
  method(
      "wait",
      [](nb::handle self, std::optional<double> seconds) {
        const Future& future = self_of(self);
        return translated([&] { return future.finish_quietly(Deadline::after(seconds)); });
      },
      timeout, "Waits for the task, failed or not. Returns whether it has completed.");
  method("add_done_callback", &add_done_callback, nb::arg("fn"),
         "Has fn(future) called once when the task has completed, failed or not.");
  method(
      "done", [](nb::handle self) { return self_of(self).done(); },
      "Whether the task has completed, failed or been cancelled. Does not wait.");
  method(
      "cancelled", [](nb::handle self) { return self_of(self).cancelled(); },
      "Whether the task was cancelled before it began. Does not wait.");
  method(
      "running",
      [](nb::handle self) {
        const Future& future = self_of(self);
        return future.call()->stage.load() == Stage::begun && !future.ready();
      },
      "Whether the task has begun and not completed. Does not wait.");
  method(
      "cancel", [](nb::handle self) { return self_of(self).try_cancel(); },
      "Keeps the task from beginning, and returns True. False: it has begun or completed.");
  method(
      "_state_name", [](nb::handle self) { return state_of(self_of(self)); },
      "One of pending, running, finished, failed, cancelled.");
  method("_label", [](nb::handle self) { return self_of(self).call()->signature->label; }, "The label of the task.");
  method(
      "_item",
      [](nb::handle self, nb::object key) {
        Held item = make_future(Future(self_of(self), Held::adopt(key.release().ptr())));
        return nb::steal<nb::object>(item.release());
      },
      nb::arg("key"), "The future of one item of the result.");
  method(
      "_notify", [](nb::handle self, int descriptor) { return self_of(self).notify(descriptor); },
      nb::arg("descriptor"), "Has an eventfd written to when the task has completed; False if it already has.");
  method("__reduce__", &refuse_to_pickle_future);
  module.def(
      "set_future_class",
      [](nb::object future_class, nb::object reporter) {
        class_of_package = reinterpret_cast<PyTypeObject*>(future_class.release().ptr());
        report = reporter.release().ptr();
      },
      nb::arg("future_class"), nb::arg("reporter"),
      "Of which class futures are, and what is called with future, function and exception when a callback has raised.");
  module.def("wait_for_any", &wait_for_any, nb::arg("futures"), nb::arg("timeout").none() = nb::none(),
             "Waits until the task of one of these futures has completed, and returns its place.");
}

}  // namespace dovetail::python
