#include "deflate.hpp"

#include <optional>

#include "process_library.hpp"

namespace dovetail::hdf5 {
namespace {

std::optional<Deflate> find_deflate() {
  Deflate found{};
  const H5Z_class2_t* filter = nullptr;
  void* other = nullptr;
  // HDF5 can be built on zlib-ng, whose results differ.
  if (find_in_library("zng_compress2", other) || !find_in_library("H5Z_DEFLATE", filter) ||
      !find_in_library("H5Z_register", found.replace) || !find_in_library("compress2", found.codec.compress) ||
      !find_in_library("compressBound", found.codec.bound) || filter->version != H5Z_CLASS_T_VERS ||
      filter->id != H5Z_FILTER_DEFLATE || filter->encoder_present == 0) {
    return std::nullopt;
  }
  found.filter = *filter;
  return found;
}

}  // namespace

const Deflate* process_deflate() {
  static const std::optional<Deflate> found = find_deflate();
  return found ? &*found : nullptr;
}

}  // namespace dovetail::hdf5
