#include "abi/symbols.hpp"

#include <dlfcn.h>

#include <array>
#include <cstring>
#include <stdexcept>

namespace dovetail::interpose::mpi {

Symbols::Symbols(const char* path) : path_(path), handle_(dlopen(path, RTLD_NOW | RTLD_NOLOAD)) {
  if (handle_ == nullptr) {
    throw std::runtime_error("the process has not loaded " + path_);
  }
}

void Symbols::require(const void* found, const char* name) const {
  if (found == nullptr) {
    throw std::runtime_error(path_ + " has no " + name);
  }
}

// A program that uses an object of the library may have its own copy of it, which the library then uses as well.
void* Symbols::find_object_if_there(const char* name) const noexcept {
  void* const found = dlsym(RTLD_DEFAULT, name);
  return found != nullptr ? found : dlsym(handle_, name);
}

void* Symbols::find_object(const char* name) const {
  void* const found = find_object_if_there(name);
  require(found, name);
  return found;
}

void* Symbols::find_function(const char* name) const noexcept {
  std::array<char, 64> own{'P'};
  std::strncat(own.data(), name, own.size() - 2);
  return dlsym(handle_, own.data());
}

}  // namespace dovetail::interpose::mpi
