// The plugin that HDF5 finds in the folder of HDF5_PLUGIN_PATH. It names no symbol of HDF5 and needs nothing but the C library, because the
// same file is loaded before programs without HDF5 (environment.cpp).
#include "library.hpp"

namespace {

// H5PL_TYPE_VOL of H5PLextern.h, which cannot be included here.
enum PluginType { plugin_for_connector = 1 };

}  // namespace

extern "C" [[gnu::visibility("default")]] int H5PLget_plugin_type() { return plugin_for_connector; }

/// Each library that asks gets an answer of its own.
extern "C" [[gnu::visibility("default")]] const void* H5PLget_plugin_info() {
  auto* const library = dovetail::hdf5::loader::Library::of(__builtin_return_address(0));
  return library != nullptr ? library->connector_class() : nullptr;
}
