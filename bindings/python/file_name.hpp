// Files that tasks name and open themselves: a file is one thing in the dependency graph, found by its resolved path.
#pragma once

#include <Python.h>

#include <string>

#include "dovetail/access.hpp"

namespace nanobind {
class module_;
}

namespace dovetail::python {

/// Whether the object is a `dovetail.File`.
bool is_file_name(PyObject* object) noexcept;
/// The region that stands for the file which `object` (a string or a path) names. `name` is the argument's, for
/// errors. `path` receives the name as it was given.
Region file_name_region(PyObject* object, const char* name, std::string& path);
void bind_file_name(nanobind::module_& module);

}  // namespace dovetail::python
