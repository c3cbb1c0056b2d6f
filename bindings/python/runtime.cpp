#include "runtime.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "body.hpp"
#include "call.hpp"
#include "collect.hpp"
#include "dovetail/admission.hpp"
#include "dovetail/runtime.hpp"
#include "dovetail/this_task.hpp"
#include "failure.hpp"
#include "future.hpp"
#include "limit.hpp"
#include "live_state.hpp"
#include "resolve.hpp"
#include "tasking/core.hpp"
#include "tasking/pause.hpp"
#include "tasking/waiting.hpp"
#include "thread_state.hpp"

namespace nb = nanobind;

namespace dovetail::python {
namespace {

class PythonRuntime {
 public:
  explicit PythonRuntime(const Options& options) {
    const Unlocked unlocked;
    runtime_ = std::make_unique<Runtime>(options);
    add_workers(static_cast<int>(runtime_->workers()));
    tell_who_asks();
  }
  ~PythonRuntime() { stop(); }
  PythonRuntime(const PythonRuntime&) = delete;
  PythonRuntime& operator=(const PythonRuntime&) = delete;

  Runtime& get() const {
    if (runtime_ == nullptr) {
      throw std::runtime_error("this runtime has been stopped");
    }
    return *runtime_;
  }
  void stop() {
    const Unlocked unlocked;
    if (runtime_ != nullptr) {
      add_workers(-static_cast<int>(runtime_->workers()));
      runtime_.reset();
    }
  }
  /// The child of a fork cannot stop what is the parent's.
  void forget() { [[maybe_unused]] const auto* const leaked = runtime_.release(); }
  bool stopped() const noexcept { return runtime_ == nullptr; }

 private:
  std::unique_ptr<Runtime> runtime_;
};

PythonRuntime* current = nullptr;  // under the interpreter's lock
PyObject* start_default = nullptr;

// In a task of the current runtime the new task is a child of it.
const detail::Task* domain_in(Runtime& runtime) noexcept {
  return tasking::current_runtime() == &runtime.core() ? tasking::current_task() : nullptr;
}

// Delays the start of a task until tasks in other domains have completed, whose failures the body finds. Then it gets its place in the
// limit: one that waits for others holds none.
std::function<void()> start_after(std::vector<FutureBase> futures, const CallReference& call) {
  return [futures = std::move(futures), call] {
    detail::Task* const bound = tasking::bind_event();
    const auto left = std::make_shared<std::atomic<std::size_t>>(futures.size() + 1);
    const std::function<void()> one_less = [=] {
      if (left->fetch_sub(1, std::memory_order_acq_rel) != 1) {
        return;
      }
      if (call->signature->limit != nullptr) {
        call->signature->limit->enter([=] {
          call->has_place = true;
          tasking::fulfill_event(bound);
        });
      } else {
        tasking::fulfill_event(bound);
      }
    };
    for (const FutureBase& future : futures) {
      future.when_completed(one_less);
    }
    one_less();
  };
}

template <class Body>
dovetail::Future<void> spawn_described(Runtime& runtime, const detail::Task* domain, const TaskDescription& description,
                                       Body&& body, bool waits_if_crowded = true) {
  detail::Task* crowded = nullptr;
  auto future = dovetail::spawn_in(domain != nullptr ? nullptr : &runtime.core(), &description,
                                   std::forward<Body>(body), crowded);
  // An executor never waits in `submit`: its users may hold a lock that a callback wants.
  if (crowded != nullptr && waits_if_crowded) {
    const Unlocked unlocked;
    detail::make_way(crowded);
  }
  return future;
}

// Where this package is: calls from there were made by its callers. Never freed.
std::string& package_folder() {
  static auto* const folder = new std::string;
  return *folder;
}

bool is_of_package(PyCodeObject* code) {
  Py_ssize_t size = 0;
  const char* const name = PyUnicode_AsUTF8AndSize(code->co_filename, &size);
  if (name == nullptr) {
    PyErr_Clear();
    return false;
  }
  const std::string& folder = package_folder();
  return static_cast<std::size_t>(size) > folder.size() && std::string_view(name, folder.size()) == folder;
}

// Only the code and the place in it: a frame would keep the variables of the caller.
void note_caller(Call& call, PyObject* frame) {
  Held at = Held::share(frame);
  while (at) {
    auto* const place = reinterpret_cast<PyFrameObject*>(at.get());
    const Held code = Held::adopt(reinterpret_cast<PyObject*>(PyFrame_GetCode(place)));
    if (!is_of_package(reinterpret_cast<PyCodeObject*>(code.get()))) {
      call.made_in = Held::share(code.get());
      call.made_at = PyFrame_GetLasti(place);
      return;
    }
    at = Held::adopt(reinterpret_cast<PyObject*>(PyFrame_GetBack(place)));
  }
}

nb::object spawn(nb::handle signature_object, nb::tuple arguments, nb::dict keywords, nb::handle caller) {
  drop_deferred();
  const Signature& signature = *nb::inst_ptr<Signature>(signature_object);
  return translated([&] {
    Runtime& runtime = current_or_default_runtime();
    const detail::Task* const domain = signature.standalone ? nullptr : domain_in(runtime);
    Uses uses;
    collect_arguments(signature, arguments.ptr(), keywords.ptr(), domain, uses);
    CallReference call(new Call);
    call->signature_object = Held::share(signature_object.ptr());
    call->signature = &signature;
    call->arguments = Held::share(arguments.ptr());
    if (PyFrame_Check(caller.ptr())) {
      note_caller(*call, caller.ptr());
    }
    if (!keywords.empty()) {
      call->keywords = Held::share(keywords.ptr());
    }
    call->domain = domain;
    call->outputs = std::move(uses.outputs);
    call->attempts_left = signature.on_failure.retries;
    call->futures_in_arguments = uses.futures;
    uses.accesses.push_back(result_access(*call));
    TaskDescription description{.label = signature.label,
                                .access = std::span<const Access>(uses.accesses),
                                .priority = signature.priority,
                                .io = signature.io,
                                .on_failure = signature.on_failure,
                                .tied = true,
                                .storage_bw = signature.storage_bw,
                                .device = signature.device};
    if (!uses.elsewhere.empty() || signature.limit != nullptr) {
      description.onready = start_after(std::move(uses.elsewhere), call);
    }
    return nb::steal<nb::object>(
        make_future({spawn_described(runtime, domain, description, Body(call), !signature.standalone), call})
            .release());
  });
}

// Waits for whatever has been told to change the object or what is in it.
void wait_for_object(nb::handle object, const Deadline& deadline) {
  translated([&] {
    if (current == nullptr) {
      return;
    }
    Runtime& runtime = current->get();
    const detail::Task* const domain = domain_in(runtime);
    Uses uses;
    collect(object.ptr(), Direction::in, domain, "x", uses);
    if (uses.accesses.empty()) {
      return;
    }
    const TaskDescription description{
        .label = "dovetail.wait", .access = std::span<const Access>(uses.accesses), .priority = 1};
    const auto reached = spawn_described(runtime, domain, description, [] {});
    const Unlocked unlocked;
    try {
      if (!deadline.never() && !reached.wait_for(deadline.left())) {
        throw TimedOut("what tasks change in it");
      }
      reached.get();
    } catch (const TaskFailed& failure) {
      if (failure.cause() != nullptr) {
        std::rethrow_exception(failure.cause());
      }
      throw;
    }
  });
}

nb::object wait(nb::object object, std::optional<double> timeout) {
  drop_deferred();
  const Deadline deadline = translated([&] { return Deadline::after(timeout); });
  if (is_future(object.ptr()) && !future_of(object.ptr()).call()->changed) {
    return translated([&] { return nb::steal<nb::object>(resolve(object.ptr(), deadline).release()); });
  }
  wait_for_object(object, deadline);
  return translated([&] { return nb::steal<nb::object>(resolve(object.ptr(), deadline).release()); });
}

void barrier() {
  drop_deferred();
  translated([&] {
    if (current == nullptr) {
      return;
    }
    Runtime& runtime = current->get();
    const bool in_task = domain_in(runtime) != nullptr;
    const Unlocked unlocked;
    if (in_task) {
      dovetail::wait();
    } else {
      runtime.wait();
    }
  });
}

nb::list describe_running() {
  nb::list all;
  for_each_running([&](const Call& call) {
    nb::list outputs;
    for (const std::string& path : call.outputs) {
      outputs.append(path);
    }
    all.append(nb::make_tuple(call.signature->label, outputs));
  });
  return all;
}

void interrupt_bodies(nb::handle exception) {
  for_each_running([&](const Call& call) {
    if (call.thread_state_id != 0) {
      PyThreadState_SetAsyncExc(call.thread_state_id, exception.ptr());
    }
  });
}

bool wait_for_some_time(PythonRuntime& self, double seconds) {
  return translated([&] {
    const auto length =
        std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds));
    const WaitsUntil until(std::chrono::steady_clock::now() + length);
    try {
      Runtime& runtime = self.get();
      const Unlocked unlocked;
      runtime.wait();
    } catch (const tasking::WaitInterrupted&) {
      if (PyErr_Occurred() != nullptr) {
        throw;
      }
      return false;
    }
    return true;
  });
}

Options options_of(const nb::dict& fields) {
  Options options;
  const auto number = [&](const char* name, auto& field) {
    if (fields.contains(name) && !fields[name].is_none()) {
      field = nb::cast<std::remove_reference_t<decltype(field)>>(fields[name]);
    }
  };
  number("workers", options.workers);
  number("io_executors", options.io_executors);
  number("engine", options.engine);
  number("trace", options.trace);
  number("config", options.config);
  number("stack_size", options.stack_size);
  number("pending_limit", options.pending_limit);
  number("bind_workers", options.bind_workers);
  if (fields.contains("report_after")) {
    options.report_after =
        std::chrono::milliseconds(static_cast<std::int64_t>(nb::cast<double>(fields["report_after"]) * 1000));
  }
  if (fields.contains("stuck_after")) {
    options.stuck_after =
        std::chrono::milliseconds(static_cast<std::int64_t>(nb::cast<double>(fields["stuck_after"]) * 1000));
  }
  return options;
}

}  // namespace

Runtime& current_or_default_runtime() {
  if (current == nullptr) {
    if (start_default == nullptr) {
      nb::module_::import_("dovetail.runtime");  // a program of other modules has not imported it
    }
    static_cast<void>(nb::handle(start_default)());
    if (current == nullptr) {
      throw std::runtime_error("no runtime could be started");
    }
  }
  return current->get();
}

void bind_runtime(nb::module_& module) {
  nb::class_<PythonRuntime>(module, "Runtime", "The C++ runtime: workers, stacks, engines.")
      .def(
          "__init__",
          [](PythonRuntime* self, const nb::dict& fields) {
            const Options options = options_of(fields);
            translated([&] { new (self) PythonRuntime(options); });
          },
          nb::arg("fields"))
      .def(
          "stop", [](PythonRuntime& self) { translated([&] { self.stop(); }); },
          "Waits for all tasks, prints failures that nobody asked for, ends the workers.")
      .def("wait", &wait_for_some_time, nb::arg("seconds"),
           "Waits for all tasks, but no longer than that. Returns whether there are none.")
      .def("forget", &PythonRuntime::forget, "In the child of a fork: the workers are the parent's.")
      .def(
          "cancel", [](PythonRuntime& self) { translated([&] { self.get().cancel(); }); },
          "Cancels every task that has not started and asks the running ones to stop.")
      .def_prop_ro("stopped", &PythonRuntime::stopped, "Whether it has been stopped.")
      .def_prop_ro(
          "workers", [](PythonRuntime& self) { return translated([&] { return self.get().workers(); }); },
          "Number of compute workers.")
      .def_prop_ro(
          "pending",
          [](PythonRuntime& self) {
            return translated([&] {
              detail::RuntimeCore& core = self.get().core();
              return core.totals.pending();
            });
          },
          "About how many tasks have not completed.");
  module.def(
      "set_current", [](PythonRuntime* runtime) { current = runtime; }, nb::arg("runtime").none(),
      "Which runtime new tasks belong to; the caller keeps it alive.");
  module.def(
      "set_default", [](nb::object start) { start_default = start.release().ptr(); }, nb::arg("start"),
      "What starts a runtime when there is none.");
  module.def("spawn", &spawn, nb::arg("signature"), nb::arg("arguments"), nb::arg("keywords"),
             nb::arg("caller").none() = nb::none(), "One call of a task, made by the frame `caller`.");
  module.def(
      "set_package_folder", [](const std::string& folder) { package_folder() = folder; }, nb::arg("folder"),
      "Where this package is, with a slash at the end: frames of its code are not the callers that users look for.");
  module.def(
      "made_at", [] { return current_origin().made_at; },
      "The call that made the running task, as tracebacks have it; empty outside of tasks.");
  module.def("wait", &wait, nb::arg("x").none(), nb::arg("timeout").none() = nb::none(),
             "Waits for futures and for what tasks change, and returns the values.");
  module.def("barrier", &barrier, "Waits for all tasks; in a task, for its children.");
  module.def("workers", &workers_now, "The number of workers of all runtimes of this process.");
  module.def("running", &describe_running,
             "Label, files to be written and state of each task that has begun and not ended: (label, paths).");
  module.def(
      "take_incomplete",
      [] {
        nb::list all;
        for (const IncompleteFile& file : take_incomplete()) {
          all.append(nb::make_tuple(file.label, file.path));
        }
        return all;
      },
      "Label and path of files that tasks began to write and did not finish, since the last call.");
  module.def("interrupt_bodies", &interrupt_bodies, nb::arg("exception"),
             "Has the exception raised in every body that runs, as soon as it is at a Python instruction.");
  module.def("admission_report", &admission_report, "What admission did so far in this process, as JSON text.");
  module.def(
      "storage_device",
      [](const std::string& name, bool measured) {
        StorageDevice device;
        {
          const Unlocked unlocked;
          device = storage_device(name, {}, measured);
        }
        nb::list paths;
        for (const std::string& path : device.paths) {
          paths.append(path);
        }
        return nb::make_tuple(device.name, nb::tuple(paths), device.write_mb_per_second, device.shared,
                              device.configured);
      },
      nb::arg("name"), nb::arg("measured"),
      "(name, paths, MB/s written or 0, shared, configured) of the device that tasks call by a name or path. measured: "
      "measures what is not "
      "known, for half a second or more. Raises ValueError if there is no such device.");
  module.def(
      "body_number", [] { return PyThreadState_Get()->thread_id; },
      "Of the body that runs on this thread, for `raise_in_body`. It is used again after the end of the body.");
  module.def(
      "raise_in_body",
      [](unsigned long number, nb::handle exception) {
        PyThreadState_SetAsyncExc(number, exception.is_none() ? nullptr : exception.ptr());
      },
      nb::arg("number"), nb::arg("exception").none(),
      "Has a class of exceptions raised in a body, as soon as it is at a Python instruction. None: takes that back.");
  module.def("cancelled", &this_task::cancelled, "Whether somebody asked the running task to stop.");
  module.def("in_task", &this_task::active, "Whether the caller is inside a task.");
  module.def(
      "label", [] { return std::string(this_task::label()); }, "The label of the running task; empty outside of one.");
}

}  // namespace dovetail::python
