#include "event_source.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "dovetail/polling.hpp"
#include "dovetail/this_task.hpp"
#include "failure.hpp"
#include "held.hpp"
#include "runtime.hpp"
#include "seconds.hpp"
#include "thread_state.hpp"

namespace nb = nanobind;

namespace dovetail::python {
namespace {

using std::chrono::nanoseconds;

// An object with `fileno()`, or a number.
int descriptor_of(nb::handle object) {
  const int descriptor = PyObject_AsFileDescriptor(object.ptr());
  if (descriptor < 0) {
    throw nb::python_error();
  }
  return descriptor;
}

class Operation {
 public:
  explicit Operation(PendingOperation operation) : operation_(std::move(operation)) {}

  bool wait(std::optional<double> timeout) {
    return translated([&] {
      const nanoseconds at_most = nanoseconds_of(timeout);
      const Unlocked unlocked;
      return operation_.wait_for(at_most);
    });
  }
  void bind() {
    translated([&] { operation_.bind(); });
  }
  void complete() { operation_.complete(); }
  void fail(nb::handle exception) {
    if (PyExceptionInstance_Check(exception.ptr()) == 0) {
      throw nb::type_error("fail() takes an exception");
    }
    operation_.fail(exception_of(Held::share(exception.ptr())));
  }

 private:
  PendingOperation operation_;
};

class EventSource {
 public:
  EventSource(const nb::object& poll, std::string label, double shortest, double longest, const nb::object& fileno)
      : poll_(std::make_shared<Held>(Held::share(poll.ptr()))) {
    const int descriptor = fileno.is_none() ? -1 : descriptor_of(fileno);
    const PollingRate rate{.shortest = nanoseconds_of(shortest), .longest = nanoseconds_of(longest)};
    Runtime& runtime = current_or_default_runtime();
    service_ = std::make_unique<PollingService>(
        runtime, std::move(label), rate, [poll = poll_] { return ask(*poll); }, descriptor);
  }
  ~EventSource() { close(); }
  EventSource(const EventSource&) = delete;
  EventSource& operator=(const EventSource&) = delete;

  Operation expect(std::string what) const {
    return translated([&] { return Operation(service().expect(std::move(what))); });
  }
  std::size_t pending() const { return service_ != nullptr ? service_->pending() : 0; }
  void close() {
    const Unlocked unlocked;  // the function may be waiting for the interpreter
    service_.reset();
  }

  static int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (nb::inst_ready(self)) {
      Py_VISIT(nb::inst_ptr<EventSource>(self)->poll_->get());
    }
    return 0;
  }
  static int clear(PyObject* self) {
    auto* const source = nb::inst_ptr<EventSource>(self);
    source->close();
    *source->poll_ = Held();
    return 0;
  }

 private:
  PollingService& service() const {
    if (service_ == nullptr) {
      throw std::runtime_error("this event source has been closed");
    }
    return *service_;
  }
  // On a thread of the runtime, which may or may not have the interpreter.
  static std::size_t ask(const Held& poll) {
    if (Py_IsInitialized() == 0) {
      return 0;
    }
    const Locked locked;
    if (!Held::adopt(PyObject_CallNoArgs(poll.get()))) {
      throw_python_error();
    }
    return 0;
  }

  std::shared_ptr<Held> poll_;
  std::unique_ptr<PollingService> service_;
};

using WaitForDescriptor = bool (*)(int, nanoseconds);

template <WaitForDescriptor wait_for>
bool wait_for_descriptor(const nb::object& file, std::optional<double> timeout) {
  const int descriptor = descriptor_of(file);
  return translated([&] {
    const nanoseconds at_most = nanoseconds_of(timeout);
    const Unlocked unlocked;
    return wait_for(descriptor, at_most);
  });
}

}  // namespace

void bind_event_source(nb::module_& module) {
  nb::class_<Operation>(module, "Operation", nb::is_final(), "Something that an event source expects to end.")
      .def("wait", &Operation::wait, nb::arg("timeout").none() = nb::none(),
           "Pauses the task until the operation has ended.")
      .def("bind", &Operation::bind, "The task completes no earlier than the operation.")
      .def("complete", &Operation::complete, "It has ended.")
      .def("fail", &Operation::fail, nb::arg("exception"), "It has ended by an error.");
  static PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(&EventSource::traverse)},
                                {Py_tp_clear, reinterpret_cast<void*>(&EventSource::clear)},
                                {0, nullptr}};
  nb::class_<EventSource>(module, "EventSource", nb::type_slots(slots), "Asks now and then what has ended.")
      .def(
          "__init__",
          [](EventSource* self, const nb::object& poll, std::string label, double shortest, double longest,
             const nb::object& fileno) {
            translated([&] { new (self) EventSource(poll, std::move(label), shortest, longest, fileno); });
          },
          nb::arg("poll"), nb::kw_only(), nb::arg("label") = "event source", nb::arg("shortest") = 5e-6,
          nb::arg("longest") = 5e-4, nb::arg("fileno").none() = nb::none())
      .def("expect", &EventSource::expect, nb::arg("what"), "Expects one more operation to end.")
      .def("close", &EventSource::close, "Asks no more; what is still pending fails.")
      .def_prop_ro("pending", &EventSource::pending, "Operations that have not ended.");
  module.def("wait_readable", &wait_for_descriptor<&this_task::wait_readable>, nb::arg("file"),
             nb::arg("timeout").none() = nb::none(), "Pauses the task until the file can be read.");
  module.def("wait_writable", &wait_for_descriptor<&this_task::wait_writable>, nb::arg("file"),
             nb::arg("timeout").none() = nb::none(), "Pauses the task until the file can be written.");
}

}  // namespace dovetail::python
