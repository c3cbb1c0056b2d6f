#include "closed_containers.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "failure.hpp"

namespace dovetail::python {
namespace {

// Never freed.
PyTypeObject* collections_type(const char* name) {
  const Held module = checked(PyImport_ImportModule("collections"));
  return reinterpret_cast<PyTypeObject*>(checked(PyObject_GetAttrString(module.get(), name)).release());
}

bool is_object_array(PyObject* object) {
  if (std::strcmp(Py_TYPE(object)->tp_name, "numpy.ndarray") != 0) {
    return false;
  }
  static PyObject* const attribute = PyUnicode_InternFromString("dtype");
  static PyObject* last_of_numbers = nullptr;  // most arrays of a program have one; never freed
  Held dtype = checked(PyObject_GetAttr(object, attribute));
  if (dtype.get() == last_of_numbers) {
    return false;
  }
  const Held kind = checked(PyObject_GetAttrString(dtype.get(), "kind"));
  const bool of_objects = PyUnicode_CompareWithASCIIString(kind.get(), "O") == 0;
  if (!of_objects) {
    Py_XSETREF(last_of_numbers, dtype.release());
  }
  return of_objects;
}

bool is_view(PyTypeObject* type) noexcept {
  return type == &PyDictValues_Type || type == &PyDictItems_Type || type == &PyDictKeys_Type;
}

}  // namespace

bool is_closed_container(PyObject* object) {
  static const std::array written_in_python{collections_type("ChainMap"), collections_type("UserDict"),
                                            collections_type("UserList")};
  PyTypeObject* const type = Py_TYPE(object);
  if (PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) {
    return std::ranges::any_of(written_in_python,
                               [&](PyTypeObject* each) { return PyType_IsSubtype(type, each) != 0; });
  }
  return type == &PyDictProxy_Type || is_view(type) || is_object_array(object);
}

std::vector<Held> items_of_closed(PyObject* container) {
  Held values;
  if (is_view(Py_TYPE(container))) {
    values = Held::share(container);
  } else if (PyType_HasFeature(Py_TYPE(container), Py_TPFLAGS_MAPPING)) {
    values = checked(PyMapping_Values(container));
  } else {
    // An array of any shape, or a list.
    values = PyObject_HasAttrString(container, "ravel") != 0 ? checked(PyObject_CallMethod(container, "ravel", nullptr))
                                                             : Held::share(container);
  }
  const Held list = checked(PySequence_List(values.get()));
  std::vector<Held> items;
  items.reserve(static_cast<std::size_t>(PyList_GET_SIZE(list.get())));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.get()); ++i) {
    items.push_back(Held::share(PyList_GET_ITEM(list.get(), i)));
  }
  return items;
}

}  // namespace dovetail::python
