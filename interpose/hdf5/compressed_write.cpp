#include "compressed_write.hpp"

#include <H5VLconnector_passthru.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "deflate.hpp"
#include "deflate_filter.hpp"
#include "driver_file.hpp"
#include "errors.hpp"
#include "library_context.hpp"
#include "query.hpp"
#include "settings.hpp"

namespace dovetail::hdf5 {
namespace {

// Below, handing it over costs as much as compressing it.
constexpr std::size_t least_chunk_bytes = 512;
constexpr std::size_t least_write_bytes = std::size_t{8} << 10;

// Elements whose bytes are all in the chunk, and are the same in memory.
bool self_contained(hid_t type) {
  const H5T_class_t kind = H5Tget_class(type);
  if (kind == H5T_STRING) {
    return H5Tis_variable_str(type) == 0;
  }
  // In a compound, a string of any length is told apart by nothing that can be asked for.
  return kind >= 0 && H5Tdetect_class(type, H5T_VLEN) == 0 && H5Tdetect_class(type, H5T_REFERENCE) == 0 &&
         H5Tdetect_class(type, H5T_STRING) == 0;
}

// Shuffle or nothing, then deflate, then perhaps a checksum, which cannot fail: a filter of the program might.
bool read_filters(hid_t creation, compression::ChunkLayout& layout) {
  const int filters = H5Pget_nfilters(creation);
  bool deflates = false;
  for (int i = 0; i < filters; ++i) {
    unsigned flags = 0;
    unsigned configuration = 0;
    unsigned value[8] = {};
    std::size_t values = std::size(value);
    const H5Z_filter_t filter =
        H5Pget_filter2(creation, static_cast<unsigned>(i), &flags, &values, value, 0, nullptr, &configuration);
    if (filter == H5Z_FILTER_SHUFFLE && i == 0) {
      layout.shuffled = layout.element;
    } else if (filter == H5Z_FILTER_DEFLATE && values == 1 && !deflates) {
      layout.level = value[0];
      deflates = true;
    } else if (filter != H5Z_FILTER_FLETCHER32 || !deflates) {
      return false;
    }
  }
  return deflates;
}

// An offset (`H5Soffset_simple`) moves a selection of all as well, and shows in the bounds of no other than a hyperslab.
bool has_offset(hid_t space) {
  const Identifier copy(H5Scopy(space), H5Sclose);
  const int rank = H5Sget_simple_extent_ndims(space);
  if (!copy.valid() || rank <= 0) {
    return true;
  }
  std::vector<hsize_t> first(static_cast<std::size_t>(rank));
  std::vector<hsize_t> last(first.size());
  const std::vector<hsize_t> one(first.size(), 1);
  return H5Sget_simple_extent_dims(space, last.data(), nullptr) != rank ||
         H5Sselect_hyperslab(copy.get(), H5S_SELECT_SET, first.data(), nullptr, one.data(), last.data()) < 0 ||
         H5Sget_select_bounds(copy.get(), first.data(), last.data()) < 0 ||
         std::ranges::any_of(first, [](hsize_t start) { return start != 0; });
}

// The box that is selected in the file.
bool find_box(const Object& dataset, const WriteArguments& arguments, CompressedWrite& write) {
  const Identifier space(space_of(dataset, arguments.properties), H5Sclose);
  const std::size_t rank = write.start.size();
  if (!space.valid() || H5Sget_simple_extent_dims(space.get(), write.shape.data(), nullptr) != static_cast<int>(rank)) {
    return false;
  }
  if (arguments.file_space == H5S_ALL) {
    return true;
  }
  const H5S_sel_type kind = H5Sget_select_type(arguments.file_space);
  if ((kind == H5S_SEL_ALL && has_offset(arguments.file_space)) ||
      (kind != H5S_SEL_ALL && kind != H5S_SEL_HYPERSLABS) || H5Sextent_equal(arguments.file_space, space.get()) <= 0 ||
      H5Sselect_valid(arguments.file_space) <= 0) {
    return false;
  }
  std::vector<hsize_t> last(rank);
  if (H5Sget_select_bounds(arguments.file_space, write.start.data(), last.data()) < 0) {
    return false;
  }
  hsize_t volume = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    write.shape[i] = last[i] - write.start[i] + 1;
    volume *= write.shape[i];
  }
  return H5Sget_select_npoints(arguments.file_space) == static_cast<hssize_t>(volume);
}

// The memory that HDF5 would read; H5S_ALL: one element after the other.
hid_t memory_of(const WriteArguments& arguments) {
  if (arguments.memory_space == H5S_ALL) {
    return arguments.file_space;
  }
  return arguments.memory_space == H5S_BLOCK ? H5S_ALL : arguments.memory_space;
}

bool fits(hid_t memory, std::size_t elements) {
  return memory == H5S_ALL ||
         (H5Sget_select_npoints(memory) == static_cast<hssize_t>(elements) && H5Sselect_valid(memory) > 0 &&
          (H5Sget_select_type(memory) != H5S_SEL_ALL || !has_offset(memory)));
}

bool contiguous(hid_t memory) {
  return memory == H5S_ALL || (H5Sget_select_npoints(memory) == H5Sget_simple_extent_npoints(memory) &&
                               H5Sget_select_type(memory) != H5S_SEL_POINTS);
}

// A property that the public interface sets and does not show.
bool has_filter_callback(hid_t properties) {
  constexpr auto name = "filter_cb";
  H5Z_cb_t callback{};
  std::size_t size = 0;
  return H5Pexist(properties, name) > 0 && (H5Pget_size(properties, name, &size) < 0 || size != sizeof callback ||
                                            H5Pget(properties, name, &callback) < 0 || callback.func != nullptr);
}

}  // namespace

std::shared_ptr<CompressedDataset> compressed_dataset(hid_t creation, hid_t type, DriverFile* file) {
  auto layout = std::make_shared<compression::ChunkLayout>();
  layout->element = H5Tget_size(type);
  if (settings().compression_threads == 0 || !LibraryContext::available() || file == nullptr ||
      !file->staged().writable() || H5Pget_layout(creation) != H5D_CHUNKED || !read_filters(creation, *layout) ||
      !self_contained(type)) {
    return nullptr;
  }
  layout->chunk.resize(H5S_MAX_RANK);
  const int rank = H5Pget_chunk(creation, H5S_MAX_RANK, layout->chunk.data());
  if (rank <= 0) {
    return nullptr;
  }
  layout->chunk.resize(static_cast<std::size_t>(rank));
  if (layout->shuffled == 1 || layout->shuffled * 2 > layout->chunk_bytes()) {
    layout->shuffled = 0;  // nothing to be done, and HDF5 leaves a single element as it is
  }
  if (layout->chunk_bytes() < least_chunk_bytes || !install_deflate_filter()) {
    return nullptr;
  }
  auto known = std::make_shared<CompressedDataset>();
  layout->codec = process_deflate()->codec;
  known->layout = layout;
  known->type = Identifier(H5Tcopy(type), H5Tclose);
  known->file = file;
  return known->type.valid() ? known : nullptr;
}

std::shared_ptr<CompressedDataset> compressed_dataset(const Object& dataset, hid_t properties) {
  const Identifier creation(ask(dataset, H5VL_DATASET_GET_DCPL, properties), H5Pclose);
  if (!creation.valid() || H5Pget_nfilters(creation.get()) <= 0) {
    return nullptr;
  }
  const Identifier type(ask(dataset, H5VL_DATASET_GET_TYPE, properties), H5Tclose);
  return type.valid() ? compressed_dataset(creation.get(), type.get(), file_of(dataset, H5I_DATASET)) : nullptr;
}

hid_t space_of(const Object& dataset, hid_t properties) {
  return dataset.compressed != nullptr && dataset.compressed->space_to_be.valid()
             ? H5Scopy(dataset.compressed->space_to_be.get())
             : ask(dataset, H5VL_DATASET_GET_SPACE, properties);
}

std::optional<CompressedWrite> compressed_write(const Object& dataset, const CompressedDataset& known,
                                                const WriteArguments& arguments) {
  // Most writes that are too small to be worth more questions say so.
  if (arguments.file_space > H5S_PLIST &&
      static_cast<std::size_t>(std::max<hssize_t>(0, H5Sget_select_npoints(arguments.file_space))) *
              known.layout->element <
          least_write_bytes) {
    return std::nullopt;
  }
  // Without an identifier of its own, the file is closed by the close of its last object, which must not come later then.
  if (arguments.data == nullptr || arguments.file_space == H5S_PLIST || arguments.memory_space == H5S_PLIST ||
      known.file->identifier_closed() || H5Tequal(arguments.type, known.type.get()) <= 0 ||
      (arguments.properties != H5P_DEFAULT && arguments.properties != H5P_DATASET_XFER_DEFAULT &&
       (transforms(arguments.properties) || has_filter_callback(arguments.properties)))) {
    return std::nullopt;
  }
  const std::vector<hsize_t>& extent = known.layout->chunk;
  const std::size_t rank = extent.size();
  CompressedWrite write{.start = std::vector<hsize_t>(rank),
                        .shape = std::vector<hsize_t>(rank),
                        .bytes = known.layout->element,
                        .chunks = 0,
                        .contiguous = false};
  if (!find_box(dataset, arguments, write)) {
    return std::nullopt;
  }
  for (const hsize_t length : write.shape) {
    write.bytes *= length;
  }
  write.chunks = compression::Covered(*known.layout, write.start, write.shape).count;
  const hid_t memory = memory_of(arguments);
  if (write.chunks * known.layout->chunk_bytes() < least_write_bytes ||
      !fits(memory, write.bytes / known.layout->element)) {
    return std::nullopt;
  }
  write.contiguous = contiguous(memory);
  return write;
}

std::shared_ptr<const compression::Box> box_of(const CompressedDataset& known, const CompressedWrite& write,
                                               const WriteArguments& arguments,
                                               std::optional<base::MemoryShare> memory) {
  auto box = std::make_shared<compression::Box>(compression::Box{.layout = known.layout,
                                                                 .start = write.start,
                                                                 .shape = write.shape,
                                                                 .data = static_cast<const std::byte*>(arguments.data),
                                                                 .copy = nullptr,
                                                                 .share = {}});
  if (memory) {
    auto copy = std::make_unique_for_overwrite<std::byte[]>(write.bytes);
    if (write.contiguous) {
      std::memcpy(copy.get(), arguments.data, write.bytes);
    } else if (H5Dgather(memory_of(arguments), arguments.data, known.type.get(), write.bytes, copy.get(), nullptr,
                         nullptr) < 0) {
      return nullptr;
    }
    box->data = copy.get();
    box->copy = std::move(copy);
    box->share = std::move(*memory);
  }
  return box;
}

}  // namespace dovetail::hdf5
