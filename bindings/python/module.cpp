// The extension module `dovetail._core`. What users see of it is in python/dovetail.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>

#include <array>
#include <cstddef>
#include <utility>

#include "attempt.hpp"
#include "base/starter.hpp"
#include "blocking_bodies.hpp"
#include "computing_bodies.hpp"
#include "containers.hpp"
#include "counts.hpp"
#include "ending.hpp"
#include "event_source.hpp"
#include "exit_status.hpp"
#include "failure.hpp"
#include "file_binding.hpp"
#include "file_name.hpp"
#include "future_binding.hpp"
#include "limit.hpp"
#include "mapping.hpp"
#include "messages.hpp"
#include "one_sided.hpp"
#include "runtime.hpp"
#include "signature.hpp"
#include "space.hpp"
#include "synchronization.hpp"
#include "thread_state.hpp"

// Its slots are behind one of ours, see below.
NB_MODULE(core_of_main_interpreter, module) {
  module.doc() = "The runtime in C++, as the package dovetail uses it.";
  nanobind::set_leak_warnings(false);
  dovetail::python::register_interpreter_service();
  dovetail::python::bind_failure(module);
  dovetail::python::bind_exit_status(module);
  dovetail::python::bind_file_name(module);
  dovetail::python::bind_limit(module);
  dovetail::python::bind_attempt(module);
  dovetail::python::bind_blocking_bodies(module);
  dovetail::python::bind_computing_bodies(module);
  dovetail::python::bind_counts(module);
  dovetail::python::bind_signature(module);
  dovetail::python::bind_future(module);
  dovetail::python::bind_ending(module);
  dovetail::python::bind_containers(module);
  dovetail::python::bind_mapping(module);
  dovetail::python::bind_file(module);
  dovetail::python::bind_space(module);
  dovetail::python::bind_event_source(module);
  dovetail::python::bind_synchronization(module);
  dovetail::python::bind_messages(module);
  dovetail::python::bind_one_sided(module);
  dovetail::python::bind_runtime(module);
  module.def("rank_of_process", [] {
    const dovetail::base::ProcessRank process = dovetail::base::rank_of_process();
    return std::pair(process.rank, process.size);
  });
}

namespace {

// Runtime, types and the service of the interpreter exist once in a process; a second interpreter would replace those of the first.
int refuse_other_interpreters(PyObject* /*module*/) {
  if (PyInterpreterState_Get() == PyInterpreterState_Main()) {
    return 0;
  }
  PyErr_SetString(
      PyExc_ImportError,
      "dovetail works in the main interpreter only, and this is a subinterpreter: import it there, or use processes");
  return -1;
}

}  // namespace

extern "C" NB_EXPORT PyObject* PyInit__core() {
  if (refuse_other_interpreters(nullptr) != 0) {
    return nullptr;
  }
  PyObject* const made = PyInit_core_of_main_interpreter();
  // Since Python 3.13 this function runs in the main interpreter whichever imports. So the code that fills the module refuses it once
  // more, before all else.
  static std::array<PyModuleDef_Slot, 8> slots{};
  if (made != nullptr && PyObject_TypeCheck(made, &PyModuleDef_Type) && slots[0].slot == 0) {
    auto* const definition = reinterpret_cast<PyModuleDef*>(made);
    slots[0] = {Py_mod_exec, reinterpret_cast<void*>(&refuse_other_interpreters)};
    std::size_t used = 1;
    for (const PyModuleDef_Slot* slot = definition->m_slots; slot != nullptr && slot->slot != 0; ++slot) {
      if (used + 1 == slots.size()) {
        PyErr_SetString(PyExc_ImportError,
                        "dovetail._core was built with a nanobind whose modules have too many slots");
        return nullptr;
      }
      slots[used++] = *slot;
    }
    definition->m_slots = slots.data();
  }
  return made;
}
