#include "process_library.hpp"

#include <H5VLconnector.h>
#include <dlfcn.h>

namespace dovetail::hdf5 {

void* symbol_in_library(const char* name) noexcept {
  // Never closed: the connector stays for as long as the process.
  static void* const library = [] {
    Dl_info where{};
    return dladdr(reinterpret_cast<void*>(&H5VLregister_connector_by_value), &where) != 0
               ? dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
               : nullptr;
  }();
  return library != nullptr ? dlsym(library, name) : nullptr;
}

}  // namespace dovetail::hdf5
