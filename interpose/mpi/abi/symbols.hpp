// The functions and objects of an MPI library that the process has loaded, perhaps so that no other library sees them: mpi4py does that.
#pragma once

#include <string>

namespace dovetail::interpose::mpi {

class Symbols {
 public:
  /// Those of the library that was loaded from `path`. @throws std::runtime_error if the process has not loaded it.
  explicit Symbols(const char* path);
  /// The function of MPI whose name begins with `PMPI_`: no library that intercepts calls of MPI replaces that. @throws std::runtime_error if
  /// there is none.
  template <class Function>
  void find(Function*& function, const char* name) const {
    find_if_there(function, name);
    require(reinterpret_cast<void*>(function), name);
  }
  /// Null if there is none.
  template <class Function>
  void find_if_there(Function*& function, const char* name) const noexcept {
    function = reinterpret_cast<Function*>(find_function(name));
  }
  /// An object of the library, such as Open MPI's null request. @throws As above.
  void* find_object(const char* name) const;
  /// Null if there is none.
  void* find_object_if_there(const char* name) const noexcept;

 private:
  void* find_function(const char* name) const noexcept;
  void require(const void* found, const char* name) const;

  const std::string path_;
  void* const handle_;
};

}  // namespace dovetail::interpose::mpi
