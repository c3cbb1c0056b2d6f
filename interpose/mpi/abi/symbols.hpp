// The functions and objects of the MPI library that the process has loaded, wherever it lies: mpi4py loads its own so that no other library
// sees it.
#pragma once

#include <string>

namespace dovetail::interpose::mpi {

class Symbols {
 public:
  /// Finds the library. @throws std::runtime_error if the process has none of this binary interface.
  Symbols();
  /// MPI's own function (`PMPI_` and the rest of its name), whoever stands before it. @throws std::runtime_error if there is none.
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
  /// Where the library lies.
  const std::string& path() const noexcept { return path_; }

 private:
  void* find_function(const char* name) const noexcept;
  void require(const void* found, const char* name) const;

  std::string path_;
  void* handle_;
};

}  // namespace dovetail::interpose::mpi
