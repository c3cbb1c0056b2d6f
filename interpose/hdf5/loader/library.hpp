// The HDF5 library that a call came from: private to one extension module of Python, shared, or linked into the program. Its functions are
// looked up in its own handle, so several libraries in one process are told apart and none becomes visible to others.
#pragma once

#include <cstddef>

namespace dovetail::hdf5::loader {

/// A loaded object: a library or the program itself. Objects of static duration, never freed.
class Library {
 public:
  /// The one that the instruction belongs to; null if it belongs to none, or to more of them than are remembered.
  static Library* of(const void* instruction) noexcept;

  /// A symbol that this very object defines, and none of the libraries that it needs; null otherwise.
  void* own_symbol(const char* name) const noexcept;
  template <class Function>
  bool find(const char* name, Function& function) const noexcept {
    function = reinterpret_cast<Function>(own_symbol(name));
    return function != nullptr;
  }

  /// 1.14.5 is 1'014'005; 0 if it does not say.
  unsigned version() const noexcept;
  const char* path() const noexcept { return path_; }
  void* handle() const noexcept { return handle_; }

  /// Whether the connector serves this library. Decided once; the reason against it is printed, once.
  bool served() noexcept;
  /// For HDF5, as the answer of a plugin: the connector's class, or that of the library's native connector under the name of this one. Null
  /// if neither can be had.
  const void* connector_class() noexcept;

 private:
  enum class State { unknown, connector, native };

  bool decide() noexcept;
  const void* native_class() noexcept;
  void refuse(const char* why) noexcept;

  const void* base_ = nullptr;
  const char* path_ = nullptr;
  void* handle_ = nullptr;
  State state_ = State::unknown;
  const void* class_ = nullptr;
};

/// The folder of this very file, with a slash at its end; empty if that is not known.
const char* own_folder() noexcept;

}  // namespace dovetail::hdf5::loader
