#include "containers.hpp"

#include <nanobind/nanobind.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "closed_containers.hpp"
#include "failure.hpp"
#include "future.hpp"

namespace nb = nanobind;

namespace dovetail::python {
namespace {

// Never freed.
PyTypeObject* deque_type() {
  static auto* const type = [] {
    const Held module = checked(PyImport_ImportModule("collections"));
    return reinterpret_cast<PyTypeObject*>(checked(PyObject_GetAttrString(module.get(), "deque")).release());
  }();
  return type;
}

// Of anything that can be iterated.
std::vector<Held> listed(PyObject* iterable) {
  const Held list = checked(PySequence_List(iterable));
  std::vector<Held> items;
  items.reserve(static_cast<std::size_t>(PyList_GET_SIZE(list.get())));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.get()); ++i) {
    items.push_back(Held::share(PyList_GET_ITEM(list.get(), i)));
  }
  return items;
}

std::vector<Held> future_keys(PyObject* dictionary) {
  std::vector<Held> found;
  PyObject* key = nullptr;
  PyObject* value = nullptr;
  for (Py_ssize_t place = 0; PyDict_Next(dictionary, &place, &key, &value) != 0;) {
    if (is_future(key)) {
      found.push_back(Held::share(key));
    }
  }
  return found;
}

PyObject* fields_name() {
  static PyObject* const name = PyUnicode_InternFromString("__dataclass_fields__");
  return name;
}

Held fields_of(PyObject* object) {
  return checked(PyObject_GetAttr(reinterpret_cast<PyObject*>(Py_TYPE(object)), fields_name()));
}

// The names of the fields that are set, beside their values.
std::vector<Held> set_fields(PyObject* object, std::vector<Held>* values) {
  const Held fields = fields_of(object);
  const Held names = checked(PySequence_List(fields.get()));
  std::vector<Held> found;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(names.get()); ++i) {
    PyObject* const name = PyList_GET_ITEM(names.get(), i);
    Held value = Held::adopt(PyObject_GetAttr(object, name));
    if (!value) {
      PyErr_Clear();
      continue;
    }
    found.push_back(Held::share(name));
    if (values != nullptr) {
      values->push_back(std::move(value));
    }
  }
  return found;
}

Held tuple_of(const std::vector<Held>& items) {
  Held tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
  for (std::size_t i = 0; i < items.size(); ++i) {
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), Py_NewRef(items[i].get()));
  }
  return tuple;
}

Held shallow_copy(PyObject* object) {
  const Held module = checked(PyImport_ImportModule("copy"));
  return checked(PyObject_CallMethod(module.get(), "copy", "(O)", object));
}

// A type of the program may make something else of what it is called with.
Held with_these_items(Held made, const Held& items) {
  const Held found = checked(PySequence_Tuple(made.get()));
  bool same = PyTuple_GET_SIZE(found.get()) == PyTuple_GET_SIZE(items.get());
  for (Py_ssize_t i = 0; same && i < PyTuple_GET_SIZE(items.get()); ++i) {
    same = PyTuple_GET_ITEM(found.get(), i) == PyTuple_GET_ITEM(items.get(), i);
  }
  if (!same) {
    PyErr_Format(PyExc_TypeError, "'%s' called with the items does not have these items", Py_TYPE(made.get())->tp_name);
    throw_python_error();
  }
  return made;
}

Held tuple_like(PyObject* container, const Held& items) {
  PyObject* const type = reinterpret_cast<PyObject*>(Py_TYPE(container));
  // A named tuple is made from its items one by one, others from all of them.
  if (PyObject_HasAttrString(type, "_make") != 0) {
    return with_these_items(checked(PyObject_CallMethod(type, "_make", "(O)", items.get())), items);
  }
  return with_these_items(checked(PyObject_CallOneArg(type, items.get())), items);
}

Held make_like(PyObject* container, ContainerKind kind, const std::vector<Held>& before,
               const std::vector<Held>& items) {
  if (kind == ContainerKind::tuple) {
    Held tuple = tuple_of(items);
    return PyTuple_CheckExact(container) ? std::move(tuple) : tuple_like(container, tuple);
  }
  if (kind == ContainerKind::set && PyFrozenSet_Check(container)) {
    const Held tuple = tuple_of(items);
    return checked(PyObject_CallOneArg(reinterpret_cast<PyObject*>(Py_TYPE(container)), tuple.get()));
  }
  if (kind == ContainerKind::closed) {
    PyErr_SetString(PyExc_TypeError, "this type is none of those that Dovetail copies");
    throw_python_error();
  }
  Held copy = shallow_copy(container);
  if (Py_TYPE(copy.get()) != Py_TYPE(container)) {
    PyErr_Format(PyExc_TypeError, "copy.copy makes a '%s' of it", Py_TYPE(copy.get())->tp_name);
    throw_python_error();
  }
  switch (kind) {
    case ContainerKind::list:
      for (std::size_t i = 0; i < items.size(); ++i) {
        if (items[i].get() != before[i].get()) {
          checked(PySequence_SetItem(copy.get(), static_cast<Py_ssize_t>(i), items[i].get()));
        }
      }
      break;
    case ContainerKind::dictionary: {
      if (!future_keys(container).empty()) {
        PyErr_SetString(PyExc_TypeError, "a future is a key of it");
        throw_python_error();
      }
      const Held keys = checked(PySequence_List(container));
      for (std::size_t i = 0; i < items.size() && static_cast<Py_ssize_t>(i) < PyList_GET_SIZE(keys.get()); ++i) {
        if (items[i].get() != before[i].get()) {
          checked(
              PyObject_SetItem(copy.get(), PyList_GET_ITEM(keys.get(), static_cast<Py_ssize_t>(i)), items[i].get()));
        }
      }
      break;
    }
    case ContainerKind::set:
    case ContainerKind::deque: {
      const Held tuple = tuple_of(items);
      checked(PyObject_CallMethod(copy.get(), "clear", nullptr));
      checked(PyObject_CallMethod(copy.get(), kind == ContainerKind::set ? "update" : "extend", "(O)", tuple.get()));
      break;
    }
    case ContainerKind::dataclass: {
      const std::vector<Held> names = set_fields(container, nullptr);
      for (std::size_t i = 0; i < items.size() && i < names.size(); ++i) {
        if (items[i].get() != before[i].get()) {
          // Frozen ones too: no other code sees the copy yet.
          checked(PyObject_GenericSetAttr(copy.get(), names[i].get(), items[i].get()));
        }
      }
      break;
    }
    case ContainerKind::none:
    case ContainerKind::tuple:
    case ContainerKind::closed:
      break;
  }
  return copy;
}

}  // namespace

ContainerKind container_kind(PyObject* object) {
  if (PyTuple_Check(object)) {
    return ContainerKind::tuple;
  }
  if (PyList_Check(object)) {
    return ContainerKind::list;
  }
  if (PyDict_Check(object)) {
    return ContainerKind::dictionary;
  }
  if (PyAnySet_Check(object)) {
    return ContainerKind::set;
  }
  PyTypeObject* const type = Py_TYPE(object);
  if (PyType_IsSubtype(type, deque_type()) != 0) {
    return ContainerKind::deque;
  }
  // Found in the type's own lookup, which CPython caches, so that other objects cost little.
  if (PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) && _PyType_Lookup(type, fields_name()) != nullptr) {
    return ContainerKind::dataclass;
  }
  return is_closed_container(object) ? ContainerKind::closed : ContainerKind::none;
}

std::vector<Held> items_of(PyObject* container, ContainerKind kind) {
  std::vector<Held> items;
  switch (kind) {
    case ContainerKind::none:
      break;
    case ContainerKind::dataclass:
      set_fields(container, &items);
      break;
    case ContainerKind::dictionary: {
      // A subclass may give out other values than it holds (a default is made by asking): those that it holds are wanted.
      const Held values = PyDict_CheckExact(container) ? checked(PyDict_Values(container))
                                                       : checked(PyObject_CallMethod(container, "values", nullptr));
      items = listed(values.get());
      std::ranges::move(future_keys(container), std::back_inserter(items));
      break;
    }
    case ContainerKind::closed:
      return listed(iterable_of_closed(container).get());
    default:
      return listed(container);
  }
  return items;
}

Held like(PyObject* container, ContainerKind kind, const std::vector<Held>& before, const std::vector<Held>& items) {
  try {
    return make_like(container, kind, before, items);
  } catch (const PythonError& error) {
    PyErr_Format(
        PyExc_TypeError,
        "a '%s' with futures in it cannot be made anew with their values (%s); wait for the futures first, or hand "
        "over a list or a dictionary",
        Py_TYPE(container)->tp_name, error.what());
    throw_python_error();
  }
}

void bind_containers(nb::module_& module) {
  // The types are looked up while no other thread uses the module. Later, a thread that holds the interpreter could wait for one that initialises the
  // static variables, and needs the interpreter for it.
  deque_type();
  is_closed_container(Py_None);
  module.def(
      "items_of",
      [](nb::handle object) -> nb::object {
        return translated([&]() -> nb::object {
          const ContainerKind kind = container_kind(object.ptr());
          if (kind == ContainerKind::none || kind == ContainerKind::closed) {
            return nb::none();
          }
          nb::list items;
          for (const Held& item : items_of(object.ptr(), kind)) {
            items.append(nb::handle(item.get()));
          }
          return items;
        });
      },
      nb::arg("object").none(),
      "What is in a container; None for what is none, and for one that takes no other items.");
  module.def(
      "container_like",
      [](nb::handle container, nb::list items) {
        return translated([&] {
          const ContainerKind kind = container_kind(container.ptr());
          std::vector<Held> wanted;
          for (nb::handle item : items) {
            wanted.push_back(Held::share(item.ptr()));
          }
          return nb::steal<nb::object>(like(container.ptr(), kind, items_of(container.ptr(), kind), wanted).release());
        });
      },
      nb::arg("container"), nb::arg("items"),
      "A container of the same type with other items in the places of its own.");
}

}  // namespace dovetail::python
