#include "number.hpp"

#include <nanobind/nanobind.h>

#include <string>

#include "held.hpp"

namespace nb = nanobind;

namespace dovetail::python {

std::int64_t number_of(PyObject* object, const char* name, std::int64_t least, std::int64_t most) {
  const Held number = Held::adopt(PyNumber_Index(object));
  if (!number) {
    PyErr_Clear();
    throw nb::type_error(
        (std::string(name) + " must be a whole number, not a value of type '" + Py_TYPE(object)->tp_name + "'")
            .c_str());
  }
  int overflow = 0;
  const std::int64_t value = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
  if (overflow != 0 || value < least || value > most) {
    const Held text = Held::adopt(PyObject_Str(number.get()));
    const char* const digits = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
    PyErr_Clear();
    throw nb::value_error((std::string(name) + " is " + (digits != nullptr ? digits : "too large") + "; it must be " +
                           std::to_string(least) + " to " + std::to_string(most))
                              .c_str());
  }
  return value;
}

}  // namespace dovetail::python
