#include "deflate_filter.hpp"

#include <hdf5.h>

#include <cstring>
#include <span>

#include "deflate.hpp"
#include "services.hpp"

namespace dovetail::hdf5 {
namespace {

bool installed = false;

// 0: HDF5's own filter is to be asked.
std::size_t take_compressed(unsigned level, std::size_t bytes, std::size_t* capacity, void** buffer) {
  const std::shared_ptr<compression::Chunk> chunk =
      services().chunks.take({static_cast<const std::byte*>(*buffer), bytes}, level);
  if (chunk == nullptr) {
    return 0;
  }
  const std::size_t made = chunk->result().size();
  void* const target = H5allocate_memory(made, false);
  if (target == nullptr) {
    return 0;
  }
  std::memcpy(target, chunk->result().data(), made);
  H5free_memory(*buffer);
  *buffer = target;
  *capacity = made;
  return made;
}

std::size_t deflate(unsigned flags, std::size_t values, const unsigned value[], std::size_t bytes,
                    std::size_t* capacity, void** buffer) {
  if ((flags & H5Z_FLAG_REVERSE) == 0 && values == 1 && !services().chunks.empty()) {
    try {
      if (const std::size_t made = take_compressed(value[0], bytes, capacity, buffer); made != 0) {
        return made;
      }
    } catch (const std::exception&) {
      // The program's thread compresses as ever, and HDF5 tells if it cannot.
      return process_deflate()->filter.filter(flags, values, value, bytes, capacity, buffer);
    }
    ++services().compressed.chunks_by_program;
  }
  return process_deflate()->filter.filter(flags, values, value, bytes, capacity, buffer);
}

}  // namespace

bool install_deflate_filter() {
  const Deflate* const own = process_deflate();
  if (own == nullptr) {
    return false;
  }
  if (!installed) {
    H5Z_class2_t ours = own->filter;
    ours.filter = deflate;
    installed = own->replace(&ours) >= 0;
  }
  return installed;
}

void forget_deflate_filter() noexcept { installed = false; }

}  // namespace dovetail::hdf5
