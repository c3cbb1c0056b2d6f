#include "collect.hpp"

#include <nanobind/nanobind.h>

#include <string>

#include "failure.hpp"
#include "file.hpp"
#include "file_name.hpp"
#include "future.hpp"
#include "memory.hpp"

namespace nb = nanobind;

namespace dovetail::python {
namespace {

constexpr unsigned deepest = 200;

// Spaces of things that have no bytes of their own. Those of files are handed out from 1 on and never come near.
constexpr std::uint64_t object_space = ~std::uint64_t{0};
constexpr std::uint64_t future_space = ~std::uint64_t{1};

struct Collector {
  const detail::Task* domain;
  const char* name;
  Uses& uses;

  void collect(PyObject* object, Direction direction, unsigned depth);
  void collect_future(PyObject* object, AccessMode mode);
  void collect_file_name(PyObject* object, Direction direction);
  void add_file_name(PyObject* object, AccessMode mode);
  void collect_items(PyObject* object, Direction direction, unsigned depth);
};

bool names_file(Direction direction) noexcept {
  return direction == Direction::file_in || direction == Direction::file_out || direction == Direction::file_inout ||
         direction == Direction::file_commutative;
}

AccessMode mode_of(Direction direction) noexcept {
  switch (direction) {
    case Direction::out:
    case Direction::file_out:
      return AccessMode::out;
    case Direction::inout:
    case Direction::file_inout:
      return AccessMode::inout;
    case Direction::commutative:
    case Direction::file_commutative:
      return AccessMode::commutative;
    default:
      return AccessMode::in;
  }
}

// What cannot change, and contains nothing that can.
bool is_constant(PyObject* object) noexcept {
  PyTypeObject* const type = Py_TYPE(object);
  return object == Py_None || type == &PyLong_Type || type == &PyFloat_Type || type == &PyUnicode_Type ||
         type == &PyBool_Type || type == &PyBytes_Type || type == &PyComplex_Type || type == &PyFunction_Type ||
         type == &PyModule_Type || type == &PyCFunction_Type || type == &PyRange_Type || type == &PySlice_Type ||
         object == Py_Ellipsis || PyType_Check(object);
}

void Collector::collect_future(PyObject* object, AccessMode mode) {
  const Future& future = *nb::inst_ptr<Future>(object);
  uses.futures = true;
  const CallReference& call = future.call();
  if (call->domain != domain) {
    if (!future.ready()) {
      uses.elsewhere.push_back(call);
    }
    return;
  }
  // What has completed well needs no order; a failure has to be passed on.
  if (mode == AccessMode::in && future.ready() && call->result && !call->changed) {
    return;
  }
  if (mode != AccessMode::in) {
    call->changed = true;
  }
  uses.accesses.push_back({{future_space, call->token, 1}, mode});
}

void Collector::collect_file_name(PyObject* object, Direction direction) {
  if (PyList_Check(object) || PyTuple_Check(object)) {
    const Held items = Held::adopt(PySequence_Fast(object, ""));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
      collect_file_name(PySequence_Fast_GET_ITEM(items.get(), i), direction);
    }
    return;
  }
  if (Py_TYPE(object) == future_type()) {
    collect_future(object, AccessMode::in);  // its name is not known yet
    return;
  }
  add_file_name(object, mode_of(direction));
}

void Collector::add_file_name(PyObject* object, AccessMode mode) {
  std::string path;
  uses.accesses.push_back({file_name_region(object, name, path), mode});
  if (mode != AccessMode::in) {
    uses.outputs.push_back(std::move(path));
  }
}

void Collector::collect_items(PyObject* object, Direction direction, unsigned depth) {
  if (depth >= deepest) {
    throw nb::value_error((std::string("argument '") + name + "' is nested more than " + std::to_string(deepest) +
                           " deep, or contains itself")
                              .c_str());
  }
  if (PyTuple_Check(object)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) {
      collect(PyTuple_GET_ITEM(object, i), direction, depth + 1);
    }
  } else if (PyList_Check(object)) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(object); ++i) {
      collect(PyList_GET_ITEM(object, i), direction, depth + 1);
    }
  } else if (PyDict_Check(object)) {
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    Py_ssize_t place = 0;
    while (PyDict_Next(object, &place, &key, &value) != 0) {
      collect(value, direction, depth + 1);
    }
  } else {
    const Held items = Held::adopt(PySequence_List(object));
    if (!items) {
      throw nb::python_error();
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.get()); ++i) {
      collect(PyList_GET_ITEM(items.get(), i), direction, depth + 1);
    }
  }
}

void Collector::collect(PyObject* object, Direction direction, unsigned depth) {
  if (names_file(direction)) {
    if (object != Py_None) {
      collect_file_name(object, direction);
    }
    return;
  }
  if (is_constant(object)) {
    if (direction != Direction::in && direction != Direction::unordered && depth == 0 && object != Py_None) {
      throw nb::type_error((std::string("argument '") + name +
                            "' is declared as written by the task, but a value of type '" + Py_TYPE(object)->tp_name +
                            "' cannot be changed in place; return the new value instead")
                               .c_str());
    }
    return;
  }
  const AccessMode mode = mode_of(direction);
  if (Py_TYPE(object) == future_type()) {
    collect_future(object, mode);
    return;
  }
  const bool unordered = direction == Direction::unordered;
  if (PyTuple_Check(object) || PyFrozenSet_Check(object)) {
    collect_items(object, direction, depth);
    return;
  }
  if (PyList_Check(object) || PyDict_Check(object) || PyAnySet_Check(object)) {
    collect_items(object, direction, depth);
  } else if (unordered) {
    return;
  } else if (Py_TYPE(object) == file_type()) {
    uses.accesses.push_back({nb::inst_ptr<OpenedFile>(object)->region(), mode});
    return;
  } else if (is_file_name(object)) {
    add_file_name(object, mode);
    return;
  } else if (add_memory(object, mode, name, uses.accesses)) {
    return;
  }
  if (!unordered) {
    uses.accesses.push_back({{object_space, reinterpret_cast<std::uint64_t>(object), 1}, mode});
  }
}

}  // namespace

Access result_access(const Call& call) noexcept { return {{future_space, call.token, 1}, AccessMode::out}; }

void collect(PyObject* object, Direction direction, const detail::Task* domain, const char* name, Uses& uses) {
  Collector{domain, name, uses}.collect(object, direction, 0);
}

void collect_arguments(const Signature& signature, PyObject* arguments, PyObject* keywords, const detail::Task* domain,
                       Uses& uses) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments); ++i) {
    const auto index = static_cast<std::size_t>(i);
    PyObject* const object = PyTuple_GET_ITEM(arguments, i);
    if (index < signature.positional.size()) {
      const Parameter& parameter = signature.positional[index];
      collect(object, parameter.direction, domain, parameter.name.c_str(), uses);
    } else {
      collect(object, signature.rest, domain, "*args", uses);
    }
  }
  if (keywords == nullptr) {
    return;
  }
  PyObject* key = nullptr;
  PyObject* value = nullptr;
  Py_ssize_t place = 0;
  while (PyDict_Next(keywords, &place, &key, &value) != 0) {
    const char* const name = PyUnicode_AsUTF8(key);
    if (name == nullptr) {
      throw nb::python_error();
    }
    const auto found = signature.named.find(name);
    collect(value, found == signature.named.end() ? signature.others : found->second, domain, name, uses);
  }
}

}  // namespace dovetail::python
