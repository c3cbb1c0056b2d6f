#include "process_library.hpp"

#include <dlfcn.h>
#include <hdf5.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>

// Made while the connector is built, out of the names that its objects leave undefined (cmake/DovetailHdf5Table.cmake).
extern "C" {
extern const std::size_t dovetail_hdf5_function_count;
extern const char* const dovetail_hdf5_function_names[];
extern void* dovetail_hdf5_functions[];
// Identifiers that HDF5 keeps in variables: copies, which H5open brings up to date.
extern const std::size_t dovetail_hdf5_variable_count;
extern const char* const dovetail_hdf5_variable_names[];
extern hid_t* const dovetail_hdf5_variables[];
extern const hid_t* dovetail_hdf5_sources[];
}

namespace dovetail::hdf5 {
namespace {

constexpr auto known_symbol = "H5VLregister_connector_by_value";

// The identity of a library is a function of it: several handles may be of one library.
constinit std::atomic<void*> identity = nullptr;
constinit void* bound = nullptr;
herr_t (*real_open)() = nullptr;

// Where the variables of a library are. A program that is linked with HDF5 may have copies of them (copy relocations). That library then
// uses those in place of its own: the first ones that the whole program sees.
void* scope_of_variables(void* library) noexcept {
  void* const program = dlopen(nullptr, RTLD_LAZY);
  void* const visible = program != nullptr ? dlsym(program, known_symbol) : nullptr;
  return visible != nullptr && visible == dlsym(library, known_symbol) ? program : library;
}

// The name of the first symbol that is not there, or null.
const char* bind(void* library) noexcept {
  real_open = reinterpret_cast<herr_t (*)()>(dlsym(library, "H5open"));
  if (real_open == nullptr) {
    return "H5open";
  }
  for (std::size_t i = 0; i < dovetail_hdf5_function_count; ++i) {
    dovetail_hdf5_functions[i] = dlsym(library, dovetail_hdf5_function_names[i]);
    if (dovetail_hdf5_functions[i] == nullptr) {
      return dovetail_hdf5_function_names[i];
    }
  }
  void* const scope = scope_of_variables(library);
  for (std::size_t i = 0; i < dovetail_hdf5_variable_count; ++i) {
    dovetail_hdf5_sources[i] = static_cast<const hid_t*>(dlsym(scope, dovetail_hdf5_variable_names[i]));
    if (dovetail_hdf5_sources[i] == nullptr) {
      return dovetail_hdf5_variable_names[i];
    }
  }
  bound = library;
  return nullptr;
}

// A program that is linked with the connector is linked with HDF5 as well, which is visible then.
[[gnu::constructor]] void bind_what_is_linked() noexcept {
  void* const visible = dlsym(RTLD_DEFAULT, known_symbol);
  void* const program = visible != nullptr ? dlopen(nullptr, RTLD_LAZY) : nullptr;
  if (program != nullptr && bind(program) == nullptr) {
    bound = program;
  }
}

}  // namespace

bool use_library(void* library, char* why, std::size_t room) noexcept {
  void* const asking = dlsym(library, known_symbol);
  void* served = nullptr;
  if (!identity.compare_exchange_strong(served, asking) && served != asking) {
    std::snprintf(why, room, "another HDF5 library of this process has the connector already");
    return false;
  }
  const char* const missing = served == nullptr ? bind(library) : nullptr;
  if (missing != nullptr) {
    identity = nullptr;
    std::snprintf(why, room, "the connector needs the function %s of HDF5", missing);
  }
  return missing == nullptr;
}

void* symbol_in_library(const char* name) noexcept { return bound != nullptr ? dlsym(bound, name) : nullptr; }

}  // namespace dovetail::hdf5

/// HDF5's function, as every use of one of its variables begins with it.
extern "C" herr_t H5open() {
  using namespace dovetail::hdf5;
  const herr_t result = real_open != nullptr ? real_open() : -1;
  for (std::size_t i = 0; result >= 0 && i < dovetail_hdf5_variable_count; ++i) {
    // Written only where something changes: other threads read.
    const hid_t now = __atomic_load_n(dovetail_hdf5_sources[i], __ATOMIC_RELAXED);
    if (__atomic_load_n(dovetail_hdf5_variables[i], __ATOMIC_RELAXED) != now) {
      __atomic_store_n(dovetail_hdf5_variables[i], now, __ATOMIC_RELAXED);
    }
  }
  return result;
}
