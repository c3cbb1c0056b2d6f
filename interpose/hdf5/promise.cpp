#include "promise.hpp"

#include <H5VLconnector.h>
#include <H5VLconnector_passthru.h>

#include <cstdint>

#include "query.hpp"

namespace dovetail::hdf5 {
namespace {

// Elements of the memory that the caller speaks of; 0: not known.
hssize_t elements(const Object& dataset, hid_t memory_space, hid_t file_space, hid_t properties) {
  if (memory_space != H5S_ALL && memory_space != H5S_BLOCK) {
    return H5Sget_simple_extent_npoints(memory_space);
  }
  if (memory_space == H5S_BLOCK && file_space != H5S_ALL) {
    return H5Sget_select_npoints(file_space);
  }
  if (file_space != H5S_ALL) {
    return H5Sget_simple_extent_npoints(file_space);
  }
  const hid_t space = ask(dataset, H5VL_DATASET_GET_SPACE, properties);
  const hssize_t count = space >= 0 ? H5Sget_simple_extent_npoints(space) : 0;
  H5Sclose(space);
  return count;
}

std::uint64_t bytes_of(const Object& dataset, hid_t type, hid_t memory_space, hid_t file_space, hid_t properties) {
  const hssize_t count = elements(dataset, memory_space, file_space, properties);
  return count > 0 ? static_cast<std::uint64_t>(count) * H5Tget_size(type) : 0;
}

void promise(Operation& operation, const void* data, std::uint64_t bytes) {
  const auto* begin = static_cast<const std::byte*>(data);
  operation.promises.push_back({begin, begin + bytes});
}

bool exceeds_limit(hid_t properties, std::uint64_t bytes) {
  std::uint64_t limit = 0;
  return H5Pexist(properties, copy_limit_property) > 0 && H5Pget(properties, copy_limit_property, &limit) >= 0 &&
         bytes > limit;
}

// A virtual dataset reads others, which may have other types; a compact one is in the header.
bool stored_as_read(const Object& dataset, hid_t type, hid_t properties) {
  const hid_t stored = ask(dataset, H5VL_DATASET_GET_TYPE, properties);
  const bool same = stored >= 0 && H5Tequal(stored, type) > 0;
  H5Tclose(stored);
  if (!same) {
    return false;
  }
  const hid_t creation = ask(dataset, H5VL_DATASET_GET_DCPL, properties);
  const H5D_layout_t layout = H5Pget_layout(creation);
  H5Pclose(creation);
  return layout == H5D_CONTIGUOUS || layout == H5D_CHUNKED;
}

}  // namespace

void promise_for_write(Operation& operation, const Object& dataset, hid_t type, hid_t memory_space, hid_t file_space,
                       hid_t properties, const void* data) {
  const bool limited = H5Pexist(properties, copy_limit_property) > 0;
  if (data == nullptr || (!operation.asynchronous && !limited)) {
    return;
  }
  hbool_t modified = false;
  if (H5Pget_modify_write_buf(properties, &modified) < 0 || modified) {
    return;  // converted in place, and perhaps back
  }
  const std::uint64_t bytes = bytes_of(dataset, type, memory_space, file_space, properties);
  if (operation.asynchronous || exceeds_limit(properties, bytes)) {
    promise(operation, data, bytes);
  }
}

void promise_for_read(Operation& operation, const Object& dataset, hid_t type, hid_t memory_space, hid_t file_space,
                      hid_t properties, const void* data) {
  if (data != nullptr && operation.asynchronous && !transforms(properties) &&
      stored_as_read(dataset, type, properties)) {
    promise(operation, data, bytes_of(dataset, type, memory_space, file_space, properties));
  }
}

}  // namespace dovetail::hdf5
