#include "memory.hpp"

#include <nanobind/nanobind.h>

#include <array>
#include <string>

#include "held.hpp"

namespace nb = nanobind;

namespace dovetail::python {
namespace {

// More pieces than this are declared as the one range around them.
constexpr std::size_t most_pieces = 64;

struct Shape {
  std::uint64_t begin = 0;
  std::uint64_t item = 0;
  int dimensions = 0;
  std::array<Py_ssize_t, 64> lengths{};
  std::array<Py_ssize_t, 64> strides{};
};

// The array as contiguous pieces, if those are few.
void add_pieces(Shape shape, AccessMode mode, std::vector<Access>& accesses) {
  // Strides made positive, so that `begin` is the lowest byte.
  int used = 0;
  for (int i = 0; i < shape.dimensions; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (shape.lengths[at] == 0) {
      return;
    }
    if (shape.lengths[at] == 1 || shape.strides[at] == 0) {
      continue;
    }
    if (shape.strides[at] < 0) {
      shape.begin -= static_cast<std::uint64_t>(-shape.strides[at] * (shape.lengths[at] - 1));
      shape.strides[at] = -shape.strides[at];
    }
    // Sorted by stride, smallest last.
    int place = used;
    const Py_ssize_t length = shape.lengths[at];
    const Py_ssize_t stride = shape.strides[at];
    while (place > 0 && shape.strides[static_cast<std::size_t>(place - 1)] < stride) {
      shape.strides[static_cast<std::size_t>(place)] = shape.strides[static_cast<std::size_t>(place - 1)];
      shape.lengths[static_cast<std::size_t>(place)] = shape.lengths[static_cast<std::size_t>(place - 1)];
      --place;
    }
    shape.strides[static_cast<std::size_t>(place)] = stride;
    shape.lengths[static_cast<std::size_t>(place)] = length;
    ++used;
  }
  std::uint64_t piece = shape.item;
  while (used > 0 && static_cast<std::uint64_t>(shape.strides[static_cast<std::size_t>(used - 1)]) <= piece) {
    const auto last = static_cast<std::size_t>(used - 1);
    piece += static_cast<std::uint64_t>(shape.strides[last] * (shape.lengths[last] - 1));
    --used;
  }
  std::size_t pieces = 1;
  std::uint64_t extent = piece;
  for (int i = 0; i < used; ++i) {
    const auto at = static_cast<std::size_t>(i);
    pieces = pieces > most_pieces ? pieces : pieces * static_cast<std::size_t>(shape.lengths[at]);
    extent += static_cast<std::uint64_t>(shape.strides[at] * (shape.lengths[at] - 1));
  }
  if (pieces > most_pieces) {
    accesses.push_back({{0, shape.begin, extent}, mode});
    return;
  }
  std::array<Py_ssize_t, 64> index{};
  for (std::size_t i = 0; i < pieces; ++i) {
    std::uint64_t begin = shape.begin;
    for (int k = 0; k < used; ++k) {
      const auto at = static_cast<std::size_t>(k);
      begin += static_cast<std::uint64_t>(index[at] * shape.strides[at]);
    }
    accesses.push_back({{0, begin, piece}, mode});
    for (int k = used - 1; k >= 0; --k) {
      const auto at = static_cast<std::size_t>(k);
      if (++index[at] < shape.lengths[at]) {
        break;
      }
      index[at] = 0;
    }
  }
}

// Arrays of types that buffers do not know, such as dates.
bool shape_of_interface(PyObject* object, Shape& shape) {
  const Held interface = Held::adopt(PyObject_GetAttrString(object, "__array_interface__"));
  if (!interface) {
    PyErr_Clear();
    return false;
  }
  try {
    const nb::handle description(interface.get());
    shape.begin = nb::cast<std::uint64_t>(description["data"][0]);
    shape.item = nb::cast<std::uint64_t>(nb::handle(object).attr("itemsize"));
    const nb::object strides = nb::handle(object).attr("strides");
    for (nb::handle length : description["shape"]) {
      const auto at = static_cast<std::size_t>(shape.dimensions++);
      shape.lengths.at(at) = nb::cast<Py_ssize_t>(length);
      shape.strides.at(at) = nb::cast<Py_ssize_t>(strides[at]);
    }
    return true;
  } catch (const std::exception&) {
    PyErr_Clear();
    return false;
  }
}

}  // namespace

bool add_memory(PyObject* object, AccessMode mode, const char* name, std::vector<Access>& accesses) {
  if (PyObject_CheckBuffer(object) == 0) {
    return false;
  }
  Shape shape;
  Py_buffer view{};
  if (PyObject_GetBuffer(object, &view, PyBUF_STRIDED_RO) == 0) {
    shape.begin = reinterpret_cast<std::uint64_t>(view.buf);
    shape.item = static_cast<std::uint64_t>(view.itemsize);
    shape.dimensions = view.ndim;
    for (int i = 0; i < view.ndim; ++i) {
      shape.lengths[static_cast<std::size_t>(i)] = view.shape[i];
      shape.strides[static_cast<std::size_t>(i)] = view.strides[i];
    }
    const bool readonly = view.readonly != 0;
    PyBuffer_Release(&view);
    if (readonly && mode != AccessMode::in) {
      throw nb::value_error(
          (std::string("argument '") + name + "' is declared as written by the task, but it is read-only").c_str());
    }
  } else {
    PyErr_Clear();
    if (!shape_of_interface(object, shape)) {
      return false;
    }
  }
  add_pieces(shape, mode, accesses);
  return true;
}

Buffer::Buffer(PyObject* object, bool writable, const char* use) {
  if (PyObject_CheckBuffer(object) == 0) {
    throw nb::type_error((std::string(use) +
                          " needs an array, a bytearray or another object with a buffer, not a value of type '" +
                          Py_TYPE(object)->tp_name + "'")
                             .c_str());
  }
  if (PyObject_GetBuffer(object, &view_, writable ? PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS : PyBUF_C_CONTIGUOUS) != 0) {
    PyErr_Clear();
    throw nb::value_error(
        (std::string(use) +
         (writable ? " needs a contiguous array that can be written to" : " needs a contiguous array") +
         "; a slice with gaps can be copied with numpy.ascontiguousarray")
            .c_str());
  }
}

}  // namespace dovetail::python
