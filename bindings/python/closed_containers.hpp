// Containers in which futures are found but cannot be replaced by their values. They are arrays of objects, and those of the standard library that
// are neither lists nor dictionaries.
#pragma once

#include <Python.h>

#include "held.hpp"

namespace dovetail::python {

/// Whether it is one of them: `ChainMap`, `UserDict`, `UserList`, `MappingProxyType` or a view of a dictionary, or a NumPy array of objects. The caller
/// holds the interpreter, as for all functions here.
bool is_closed_container(PyObject* object);

/// What gives its items when it is iterated, of mappings the values. Throws `PythonError`.
Held iterable_of_closed(PyObject* container);

}  // namespace dovetail::python
