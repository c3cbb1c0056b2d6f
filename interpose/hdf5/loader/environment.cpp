// Where this file is preloaded (`dovetail run --hdf5`) nothing has to be set for HDF5. When an HDF5 library asks the environment which
// connector is the default, this file answers. A library that the connector cannot serve gets the answer that it would get without
// Dovetail. HDF5_PLUGIN_PATH stays as it is: what the program or a package says there about its own plugins remains true.
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "library.hpp"

namespace dovetail::hdf5::loader {
namespace {

constexpr auto prefix = "HDF5_";
constexpr auto which_connector = "HDF5_VOL_CONNECTOR";
// The first that every version asks for.
constexpr auto of_every_version = "HDF5_DEBUG";
constexpr auto ours = "dovetail";
constexpr unsigned first_with_connectors = 1'012'000;

// A macro of HDF5's public header gives the string its type.
constinit char answer[] = "dovetail under_vol=0;under_info={}";

using Getenv = char* (*)(const char*);
constinit Getenv next = nullptr;

[[gnu::constructor(101)]] void find_next() noexcept {
  __atomic_store_n(&next, reinterpret_cast<Getenv>(dlsym(RTLD_NEXT, "getenv")), __ATOMIC_RELEASE);
}

// Before that, constructors of other libraries may ask.
char* plain(const char* name) noexcept {
  if (const Getenv found = __atomic_load_n(&next, __ATOMIC_ACQUIRE)) {
    return found(name);
  }
  const size_t length = strlen(name);
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=') {
      return *entry + length + 1;
    }
  }
  return nullptr;
}

char* connector_for(Library& library, char* asked_for) noexcept {
  if (asked_for != nullptr && *asked_for != '\0' && strncmp(asked_for, ours, strlen(ours)) != 0) {
    return asked_for;
  }
  int (*prepend)(const char*) = nullptr;
  if (!library.served() || !library.find("H5PLprepend", prepend) || prepend(own_folder()) < 0) {
    return nullptr;
  }
  return asked_for != nullptr && *asked_for != '\0' ? asked_for : answer;
}

[[gnu::noinline]] char* answered(const char* name, const void* caller) noexcept {
  char* const plainly = plain(name);
  Library* const library = Library::of(caller);
  if (library == nullptr) {
    return plainly;
  }
  if (strcmp(name, which_connector) == 0) {
    return connector_for(*library, plainly);
  }
  // Versions that know no connectors never ask for one, and the user is told all the same.
  if (strcmp(name, of_every_version) == 0 && library->version() < first_with_connectors) {
    library->served();
  }
  return plainly;
}

}  // namespace
}  // namespace dovetail::hdf5::loader

extern "C" [[gnu::visibility("default")]] char* getenv(const char* name) noexcept {
  using namespace dovetail::hdf5::loader;
  return strncmp(name, prefix, strlen(prefix)) == 0 ? answered(name, __builtin_return_address(0)) : plain(name);
}
