#include "abi/symbols.hpp"

#include <dlfcn.h>
#include <link.h>
#include <mpi.h>

#include <array>
#include <stdexcept>
#include <string_view>

namespace dovetail::interpose::mpi {
namespace {

// Names of the library's file. Debian, and only Debian, calls MPICH's libmpich; MVAPICH, Intel's and Cray's have its interface.
#ifdef OPEN_MPI
constexpr std::string_view interface = "Open MPI";
constexpr std::array<std::string_view, 1> files{"libmpi.so.40"};
#else
constexpr std::string_view interface = "MPICH";
constexpr std::array<std::string_view, 3> files{"libmpi.so.12", "libmpich.so.12", "libmpi_cray.so.12"};
#endif

bool is_ours(std::string_view path) noexcept {
  const std::string_view file = path.substr(path.rfind('/') + 1);
  for (const std::string_view name : files) {
    if (file.substr(0, name.size()) == name) {
      return true;
    }
  }
  return false;
}

// The first library of the process with such a name.
std::string find_loaded() {
  std::string found;
  dl_iterate_phdr(
      [](dl_phdr_info* information, std::size_t, void* into) {
        const std::string_view path = information->dlpi_name;
        if (!is_ours(path)) {
          return 0;
        }
        *static_cast<std::string*>(into) = path;
        return 1;
      },
      &found);
  return found;
}

}  // namespace

Symbols::Symbols() : path_(find_loaded()), handle_(nullptr) {
  if (!path_.empty()) {
    handle_ = dlopen(path_.c_str(), RTLD_NOW | RTLD_NOLOAD);
  }
  if (handle_ == nullptr) {
    throw std::runtime_error("a part of the program was compiled for " + std::string(interface) +
                             ", which the process has not loaded: is it linked with another MPI library?");
  }
}

// A program that uses an object of the library may have its own copy of it, which the library then uses as well.
void* Symbols::find_object(const char* name) const {
  void* found = dlsym(RTLD_DEFAULT, name);
  found = found != nullptr ? found : dlsym(handle_, name);
  if (found == nullptr) {
    throw std::runtime_error(path_ + " has no " + name);
  }
  return found;
}

void* Symbols::find_function(const char* name) const {
  void* const found = dlsym(handle_, ("P" + std::string(name)).c_str());
  if (found == nullptr) {
    throw std::runtime_error(path_ + " has no " + name);
  }
  return found;
}

}  // namespace dovetail::interpose::mpi
