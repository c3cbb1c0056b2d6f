// The extension module `dovetail._core`. What users see of it is in python/dovetail.
#include <nanobind/nanobind.h>

#include "containers.hpp"
#include "ending.hpp"
#include "exit_status.hpp"
#include "failure.hpp"
#include "file.hpp"
#include "file_name.hpp"
#include "future.hpp"
#include "mapping.hpp"
#include "runtime.hpp"
#include "signature.hpp"
#include "thread_state.hpp"

NB_MODULE(_core, module) {
  module.doc() = "The runtime in C++, as the package dovetail uses it.";
  nanobind::set_leak_warnings(false);
  dovetail::python::register_interpreter_service();
  dovetail::python::bind_failure(module);
  dovetail::python::bind_exit_status(module);
  dovetail::python::bind_file_name(module);
  dovetail::python::bind_signature(module);
  dovetail::python::bind_future(module);
  dovetail::python::bind_ending(module);
  dovetail::python::bind_containers(module);
  dovetail::python::bind_mapping(module);
  dovetail::python::bind_file(module);
  dovetail::python::bind_runtime(module);
}
