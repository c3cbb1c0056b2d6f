// Spaces of regions of the program's own.
#pragma once

#include <Python.h>

#include "dovetail/access.hpp"

namespace nanobind {
class module_;
}

namespace dovetail::python {

/// The region that an argument of a task stands for, if it is a space or a part of one: then true.
bool space_region(PyObject* object, Region& region) noexcept;
void bind_space(nanobind::module_& module);

}  // namespace dovetail::python
