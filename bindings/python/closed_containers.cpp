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
  static PyObject* last_of_numbers = nullptr;  // most arrays of a program share one type of elements
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

Held iterable_of_closed(PyObject* container) {
  if (is_object_array(container)) {
    return checked(PyObject_GetAttrString(container, "flat"));  // whatever its shape
  }
  const bool is_mapping = PyType_HasFeature(Py_TYPE(container), Py_TPFLAGS_MAPPING) != 0;
  return is_mapping ? checked(PyMapping_Values(container)) : Held::share(container);
}

}  // namespace dovetail::python
