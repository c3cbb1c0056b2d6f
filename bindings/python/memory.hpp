// The bytes that an object with a buffer (a NumPy array, a bytearray, a memory map) stands for.
#pragma once

#include <Python.h>

#include <vector>

#include "dovetail/access.hpp"

namespace dovetail::python {

/// Adds the memory of `object`, if it has any: exactly where that takes few regions, else the range from its first to its last
/// byte. Returns whether it has. `name` is the argument's, for errors.
bool add_memory(PyObject* object, AccessMode mode, const char* name, std::vector<Access>& accesses);

/// The contiguous bytes of an object, for transfers. Throws nanobind's exceptions if it has none.
class Buffer {
 public:
  Buffer(PyObject* object, bool writable, const char* use);
  ~Buffer() { PyBuffer_Release(&view_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  void* data() const noexcept { return view_.buf; }
  std::size_t size() const noexcept { return static_cast<std::size_t>(view_.len); }

 private:
  Py_buffer view_{};
};

}  // namespace dovetail::python
