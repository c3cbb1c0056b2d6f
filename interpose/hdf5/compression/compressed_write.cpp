#include "compression/compressed_write.hpp"

#include <H5VLconnector_passthru.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "background.hpp"
#include "compression/deflate_filter.hpp"
#include "query.hpp"
#include "deferred_file.hpp"
#include "errors.hpp"
#include "library_context.hpp"
#include "settings.hpp"

namespace dovetail::hdf5 {
namespace {

// Below, handing it over costs as much as compressing it.
constexpr std::size_t least_chunk_bytes = 512;
constexpr std::size_t least_write_bytes = std::size_t{8} << 10;
// What one task compresses: some milliseconds.
constexpr std::size_t task_bytes = std::size_t{256} << 10;

/// Closes an identifier at its end.
class Identifier {
 public:
  Identifier(hid_t value, herr_t (*close)(hid_t)) noexcept : value_(value), close_(close) {}
  Identifier(const Identifier&) = delete;
  Identifier& operator=(const Identifier&) = delete;
  ~Identifier() {
    if (value_ >= 0) {
      close_(value_);
    }
  }
  hid_t get() const noexcept { return value_; }
  bool valid() const noexcept { return value_ >= 0; }

 private:
  hid_t value_;
  herr_t (*close_)(hid_t);
};

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

// Shuffle or nothing, then deflate; what comes behind is HDF5's affair.
bool read_filters(hid_t creation, Stored& stored) {
  const int filters = H5Pget_nfilters(creation);
  for (int i = 0; i < filters; ++i) {
    unsigned flags = 0;
    unsigned configuration = 0;
    unsigned value[8] = {};
    std::size_t values = std::size(value);
    const H5Z_filter_t filter =
        H5Pget_filter2(creation, static_cast<unsigned>(i), &flags, &values, value, 0, nullptr, &configuration);
    if (filter == H5Z_FILTER_DEFLATE && values == 1) {
      stored.level = value[0];
      return true;
    }
    if (filter != H5Z_FILTER_SHUFFLE || values != 1 || i != 0) {
      return false;
    }
    stored.shuffled = value[0] > 1 ? value[0] : 0;
  }
  return false;
}

// The box that is selected in the file.
bool find_box(const Object& dataset, const WriteArguments& arguments, CompressedWrite& write) {
  const Identifier space(ask(dataset, H5VL_DATASET_GET_SPACE, arguments.properties), H5Sclose);
  const std::size_t rank = write.start.size();
  if (!space.valid() || H5Sget_simple_extent_dims(space.get(), write.shape.data(), nullptr) != static_cast<int>(rank)) {
    return false;
  }
  if (arguments.file_space == H5S_ALL) {
    return true;
  }
  const H5S_sel_type kind = H5Sget_select_type(arguments.file_space);
  if ((kind != H5S_SEL_ALL && kind != H5S_SEL_HYPERSLABS) || H5Sextent_equal(arguments.file_space, space.get()) <= 0 ||
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
  return memory == H5S_ALL || (H5Sget_select_npoints(memory) == static_cast<hssize_t>(elements) &&
                               H5Sselect_valid(memory) > 0);
}

bool contiguous(hid_t memory) {
  return memory == H5S_ALL || H5Sget_select_type(memory) == H5S_SEL_ALL ||
         (H5Sget_select_type(memory) == H5S_SEL_HYPERSLABS &&
          H5Sget_select_npoints(memory) == H5Sget_simple_extent_npoints(memory));
}

}  // namespace

CompressedDataset::~CompressedDataset() {
  if (type >= 0) {
    const KeptErrors kept;
    H5Tclose(type);
  }
}

std::shared_ptr<CompressedDataset> compressed_dataset(const Object& dataset, hid_t properties) {
  if (settings().compression_threads == 0 || !LibraryContext::available()) {
    return nullptr;
  }
  const Identifier creation(ask(dataset, H5VL_DATASET_GET_DCPL, properties), H5Pclose);
  auto stored = std::make_shared<Stored>();
  if (!creation.valid() || H5Pget_layout(creation.get()) != H5D_CHUNKED || !read_filters(creation.get(), *stored)) {
    return nullptr;
  }
  auto known = std::make_shared<CompressedDataset>();
  known->type = ask(dataset, H5VL_DATASET_GET_TYPE, properties);
  stored->chunk.resize(H5S_MAX_RANK);
  const int rank = H5Pget_chunk(creation.get(), H5S_MAX_RANK, stored->chunk.data());
  if (known->type < 0 || !self_contained(known->type) || rank <= 0) {
    return nullptr;
  }
  stored->chunk.resize(static_cast<std::size_t>(rank));
  stored->element = H5Tget_size(known->type);
  if (stored->shuffled * 2 > stored->chunk_bytes()) {
    stored->shuffled = 0;  // HDF5 leaves a single element as it is
  }
  known->stored = stored;
  const std::vector<DeferredFile*> files = files_of(dataset, H5I_DATASET, properties);
  if (stored->chunk_bytes() < least_chunk_bytes || files.size() != 1 || !files.front()->writable() || !install_deflate_filter()) {
    return nullptr;
  }
  known->file = files.front();
  return known;
}

std::optional<CompressedWrite> compressed_write(const Object& dataset, const CompressedDataset& known,
                                                const WriteArguments& arguments) {
  // Without an identifier of its own, the file is closed by the close of its last object, which must not come later then.
  if (arguments.data == nullptr || arguments.file_space == H5S_PLIST || arguments.memory_space == H5S_PLIST ||
      known.file->identifier_closed() || H5Tequal(arguments.type, known.type) <= 0 ||
      (arguments.properties != H5P_DEFAULT && arguments.properties != H5P_DATASET_XFER_DEFAULT &&
       transforms(arguments.properties))) {
    return std::nullopt;
  }
  const std::vector<hsize_t>& extent = known.stored->chunk;
  const std::size_t rank = extent.size();
  CompressedWrite write{.start = std::vector<hsize_t>(rank),
                        .shape = std::vector<hsize_t>(rank),
                        .bytes = known.stored->element,
                        .first_chunk = {},
                        .behind_chunk = {},
                        .chunks = 1,
                        .contiguous = false};
  if (!find_box(dataset, arguments, write)) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < rank; ++i) {
    write.first_chunk.push_back((write.start[i] + extent[i] - 1) / extent[i]);
    write.behind_chunk.push_back((write.start[i] + write.shape[i]) / extent[i]);
    write.chunks *= write.behind_chunk[i] - std::min(write.first_chunk[i], write.behind_chunk[i]);
    write.bytes *= write.shape[i];
  }
  const hid_t memory = memory_of(arguments);
  if (write.chunks * known.stored->chunk_bytes() < least_write_bytes ||
      !fits(memory, write.bytes / known.stored->element)) {
    return std::nullopt;
  }
  write.contiguous = contiguous(memory);
  return write;
}

std::shared_ptr<const Box> box_of(const CompressedDataset& known, const CompressedWrite& write,
                                  const WriteArguments& arguments, std::optional<Reservation> reservation) {
  if (!reservation) {
    return std::make_shared<Box>(Box{.stored = known.stored,
                                     .shape = write.shape,
                                     .data = static_cast<const std::byte*>(arguments.data),
                                     .copy = nullptr,
                                     .reservation = {}});
  }
  auto copy = std::make_unique_for_overwrite<std::byte[]>(write.bytes);
  if (write.contiguous) {
    std::memcpy(copy.get(), arguments.data, write.bytes);
  } else if (H5Dgather(memory_of(arguments), arguments.data, known.type, write.bytes, copy.get(), nullptr, nullptr) <
             0) {
    return nullptr;
  }
  const std::byte* const data = copy.get();
  return std::make_shared<Box>(Box{.stored = known.stored,
                                   .shape = write.shape,
                                   .data = data,
                                   .copy = std::move(copy),
                                   .reservation = std::move(*reservation)});
}

std::vector<std::shared_ptr<Chunk>> compress_in_tasks(const CompressedWrite& write,
                                                      const std::shared_ptr<const Box>& box, Reservation reservation,
                                                      const std::string& label) {
  const std::vector<hsize_t>& extent = box->stored->chunk;
  const std::size_t bytes = box->stored->chunk_bytes();
  const std::size_t at_once = std::max<std::size_t>(1, task_bytes / bytes);
  std::vector<std::shared_ptr<Chunk>> chunks;
  chunks.reserve(write.chunks);
  std::vector<hsize_t> at = write.first_chunk;
  while (chunks.size() < write.chunks) {
    std::vector<hsize_t> place(at.size());
    for (std::size_t i = 0; i < at.size(); ++i) {
      place[i] = at[i] * extent[i] - write.start[i];
    }
    chunks.push_back(std::make_shared<Chunk>(box, std::move(place), reservation.part(2 * bytes)));
    for (std::size_t i = at.size(); i-- > 0 && ++at[i] == write.behind_chunk[i];) {
      at[i] = write.first_chunk[i];
    }
  }
  for (std::size_t first = 0; first < chunks.size(); first += at_once) {
    const std::size_t count = std::min(at_once, chunks.size() - first);
    const auto begin = chunks.begin() + static_cast<std::ptrdiff_t>(first);
    std::vector<std::shared_ptr<Chunk>> group(begin, begin + static_cast<std::ptrdiff_t>(count));
    const bool made = Background::instance().spawn_computation(label, [group] {
      for (const auto& chunk : group) {
        chunk->compress(true);
      }
    });
    if (!made) {
      // HDF5's own filter does, in the program's thread. Nobody shall wait for them.
      std::ranges::for_each(group, [](const auto& chunk) { chunk->abandon(); });
    }
  }
  return chunks;
}

}  // namespace dovetail::hdf5
