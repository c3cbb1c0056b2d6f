// Whole numbers of the program, with an error that names them.
#pragma once

#include <Python.h>

#include <cstdint>
#include <limits>

namespace dovetail::python {

/// A whole number, or an object that stands for one, from `least` to `most`. Throws nanobind's exceptions, which name it, if it is none.
std::int64_t number_of(PyObject* object, const char* name, std::int64_t least, std::int64_t most);

template <class Integer>
Integer number_of(PyObject* object, const char* name) {
  return static_cast<Integer>(
      number_of(object, name, std::numeric_limits<Integer>::min(), std::numeric_limits<Integer>::max()));
}

}  // namespace dovetail::python
