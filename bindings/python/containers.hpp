// Which objects are containers in which futures are found, what is in them, and a container like one with other items.
#pragma once

#include <Python.h>

#include <vector>

#include "held.hpp"

namespace nanobind {
class module_;
}

namespace dovetail::python {

enum class ContainerKind : unsigned char { none, tuple, list, dictionary, set, deque, dataclass, closed };

/// Of the object's type, subclasses included. The caller holds the interpreter, as for all functions here.
ContainerKind container_kind(PyObject* object);

/// The items, of dictionaries the values and those keys that are futures, of dataclasses the fields that are set. Throws `PythonError`.
std::vector<Held> items_of(PyObject* container, ContainerKind kind);

/// A container of the same type, with other items in the places of those that `items_of` gave; attributes and options (a
/// default factory, a longest length) are kept. Throws `PythonError`, with an explanation if the type does not allow it.
Held like(PyObject* container, ContainerKind kind, const std::vector<Held>& before, const std::vector<Held>& items);

void bind_containers(nanobind::module_& module);

}  // namespace dovetail::python
