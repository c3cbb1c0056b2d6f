// References to Python objects that may be dropped by any thread.
#pragma once

#include <Python.h>

#include <utility>

namespace dovetail::python {

/// Drops a reference: now if the calling thread holds the interpreter, else when a thread that does calls `drop_deferred`.
void drop(PyObject* object) noexcept;
/// Drops what other threads could not. The calling thread holds the interpreter.
void drop_deferred() noexcept;

/// Owns one reference, or none. Copying needs the interpreter; dropping does not.
class Held {
 public:
  Held() noexcept = default;
  /// Takes over a new reference.
  static Held adopt(PyObject* object) noexcept {
    Held held;
    held.object_ = object;
    return held;
  }
  /// Adds a reference.
  static Held share(PyObject* object) noexcept {
    Py_XINCREF(object);
    return adopt(object);
  }
  Held(Held&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Held& operator=(Held&& other) noexcept {
    drop(std::exchange(object_, std::exchange(other.object_, nullptr)));
    return *this;
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() { drop(object_); }

  PyObject* get() const noexcept { return object_; }
  PyObject* release() noexcept { return std::exchange(object_, nullptr); }
  explicit operator bool() const noexcept { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

}  // namespace dovetail::python
