#include "resolve.hpp"

#include <nanobind/nanobind.h>

#include "failure.hpp"
#include "future.hpp"

namespace nb = nanobind;

namespace dovetail::python {
namespace {

Held checked(PyObject* object) {
  if (object == nullptr) {
    throw_python_error();
  }
  return Held::adopt(object);
}

Held resolve_items(PyObject* tuple) {
  const Py_ssize_t count = PyTuple_GET_SIZE(tuple);
  Held copy;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* const item = PyTuple_GET_ITEM(tuple, i);
    Held value = resolve(item);
    if (!copy) {
      if (value.get() == item) {
        continue;
      }
      copy = checked(PyTuple_New(count));
      for (Py_ssize_t k = 0; k < i; ++k) {
        PyTuple_SET_ITEM(copy.get(), k, Py_NewRef(PyTuple_GET_ITEM(tuple, k)));
      }
    }
    PyTuple_SET_ITEM(copy.get(), i, value.release());
  }
  return copy ? std::move(copy) : Held::share(tuple);
}

Held resolve_tuple(PyObject* tuple) {
  Held items = resolve_items(tuple);
  if (PyTuple_CheckExact(tuple) || items.get() == tuple) {
    return items;
  }
  // A named tuple is made from its items one by one, others from all of them.
  PyObject* const type = reinterpret_cast<PyObject*>(Py_TYPE(tuple));
  if (PyObject_HasAttrString(type, "_make") != 0) {
    return checked(PyObject_CallMethod(type, "_make", "(O)", items.get()));
  }
  return checked(PyObject_CallFunctionObjArgs(type, items.get(), nullptr));
}

Held resolve_list(PyObject* list) {
  Held copy;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    const Held item = Held::share(PyList_GET_ITEM(list, i));
    Held value = resolve(item.get());
    if (value.get() == item.get()) {
      continue;
    }
    if (!copy) {
      copy = checked(PyList_GetSlice(list, 0, PyList_GET_SIZE(list)));
    }
    if (PyList_SetItem(copy.get(), i, value.release()) != 0) {
      throw_python_error();
    }
  }
  return copy ? std::move(copy) : Held::share(list);
}

Held resolve_dictionary(PyObject* dictionary) {
  Held copy;
  PyObject* key = nullptr;
  PyObject* item = nullptr;
  Py_ssize_t place = 0;
  const Held whole = checked(PyDict_Copy(dictionary));  // resolving may run other code
  while (PyDict_Next(whole.get(), &place, &key, &item) != 0) {
    const Held value = resolve(item);
    if (value.get() == item) {
      continue;
    }
    if (!copy) {
      copy = checked(PyDict_Copy(dictionary));
    }
    if (PyDict_SetItem(copy.get(), key, value.get()) != 0) {
      throw_python_error();
    }
  }
  return copy ? std::move(copy) : Held::share(dictionary);
}

}  // namespace

Held resolve(PyObject* object) {
  PyTypeObject* const type = Py_TYPE(object);
  if (type == future_type()) {
    const Future& future = *nb::inst_ptr<Future>(object);
    future.finish();
    const Held value = future.value();
    return resolve(value.get());  // a task may return the future of another one
  }
  if (PyTuple_Check(object)) {
    return resolve_tuple(object);
  }
  if (PyList_Check(object)) {
    return resolve_list(object);
  }
  if (PyDict_Check(object)) {
    return resolve_dictionary(object);
  }
  return Held::share(object);
}

}  // namespace dovetail::python
