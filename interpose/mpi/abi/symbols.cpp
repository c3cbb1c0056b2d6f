#include "abi/symbols.hpp"

#include <dlfcn.h>
#include <link.h>
#include <mpi.h>

#include <array>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace dovetail::interpose::mpi {
namespace {

#ifdef OPEN_MPI
constexpr std::string_view interface = "Open MPI";
constexpr bool is_openmpi = true;
#else
constexpr std::string_view interface = "MPICH";
constexpr bool is_openmpi = false;
#endif

// Debian, and only Debian, calls MPICH's libmpich; MVAPICH, Intel's and Cray's have its interface.
bool is_mpi(std::string_view path) noexcept {
  const std::string_view file = path.substr(path.rfind('/') + 1);
  return file.starts_with("libmpi.so") || file.starts_with("libmpich.so") || file.starts_with("libmpi_cray.so");
}

std::vector<std::string> find_loaded() {
  std::vector<std::string> found;
  dl_iterate_phdr(
      [](dl_phdr_info* information, std::size_t, void* into) {
        if (is_mpi(information->dlpi_name)) {
          static_cast<std::vector<std::string>*>(into)->emplace_back(information->dlpi_name);
        }
        return 0;
      },
      &found);
  return found;
}

}  // namespace

Symbols::Symbols() : handle_(nullptr) {
  for (const std::string& path : find_loaded()) {
    void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
    if (handle != nullptr && (dlsym(handle, "ompi_mpi_comm_world") != nullptr) == is_openmpi) {
      path_ = path;
      handle_ = handle;
      break;
    }
  }
  if (handle_ == nullptr) {
    throw std::runtime_error("a part of the program was compiled for " + std::string(interface) +
                             ", which the process has not loaded: is it linked with another MPI library?");
  }
}

void Symbols::require(const void* found, const char* name) const {
  if (found == nullptr) {
    throw std::runtime_error(path_ + " has no " + name);
  }
}

// A program that uses an object of the library may have its own copy of it, which the library then uses as well.
void* Symbols::find_object(const char* name) const {
  void* found = dlsym(RTLD_DEFAULT, name);
  found = found != nullptr ? found : dlsym(handle_, name);
  require(found, name);
  return found;
}

void* Symbols::find_function(const char* name) const noexcept {
  std::array<char, 64> own{'P'};
  std::strncat(own.data(), name, own.size() - 2);
  return dlsym(handle_, own.data());
}

}  // namespace dovetail::interpose::mpi
