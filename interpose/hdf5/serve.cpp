// What the loader asks the connector for.
#include <cstddef>
#include <cstdio>

#include "connector.hpp"
#include "process_library.hpp"
#include "settings.hpp"

/// The connector's class if it serves this library from now on, or serves it already; otherwise null and a reason.
extern "C" const void* dovetail_hdf5_serve(void* library, char* why, std::size_t room) {
  using namespace dovetail::hdf5;
  if (const char* const refusal = refused_settings()) {
    std::snprintf(why, room, "%s", refusal);
    return nullptr;
  }
  return use_library(library, why, room) ? &connector_class() : nullptr;
}
