#include "postponed.hpp"

#include <H5VLconnector_passthru.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "driver_file.hpp"
#include "errors.hpp"
#include "library_context.hpp"
#include "query.hpp"
#include "services.hpp"

namespace dovetail::hdf5 {
namespace {

constexpr std::uint64_t forever = std::numeric_limits<std::uint64_t>::max();

// The program may change or close its own. HDF5 is fastest with the properties that it knows as the default.
SharedIdentifier kept_list(hid_t list, hid_t by_default) {
  return list == H5P_DEFAULT || list == by_default ? std::make_shared<Identifier>(list, nullptr)
                                                   : std::make_shared<Identifier>(H5Pcopy(list), H5Pclose);
}

SharedIdentifier kept_space(hid_t space) {
  return space == H5S_ALL ? std::make_shared<Identifier>(space, nullptr)
                          : std::make_shared<Identifier>(H5Scopy(space), H5Sclose);
}

std::optional<base::MemoryShare> reserve(std::size_t bytes) {
  Services& here = services();
  std::optional<base::MemoryShare> found = base::MemoryShare::of(here.lasting, bytes);
  if (!found) {
    Postponed::instance().make_all();
    found = base::MemoryShare::of(here.lasting, bytes);
  }
  if (!found && bytes <= here.for_long.limit()) {
    // The rest belongs to chunks that HDF5 keeps in its cache, or that were overwritten there, and to writes.
    here.chunks.drop_all();
    here.stage.drain(&staging::Statistics::waited_for_space);
    found = base::MemoryShare::of(here.lasting, bytes);
  }
  return found;
}

herr_t call_write(const Object& dataset, WriteArguments arguments) {
  void* under = dataset.under;
  return H5VLdataset_write(1, &under, dataset.connector, &arguments.type, &arguments.memory_space,
                           &arguments.file_space, arguments.properties, &arguments.data, nullptr);
}

herr_t call_extend(const Object& dataset, const hsize_t* size, hid_t properties) {
  H5VL_dataset_specific_args_t arguments{};
  arguments.op_type = H5VL_DATASET_SET_EXTENT;
  arguments.args.set_extent.size = size;
  return H5VLdataset_specific(dataset.under, dataset.connector, &arguments, properties, nullptr);
}

// There is no memory for a copy, or no room in the file system. The program waits, while tasks compress from its own memory. They work
// ahead of HDF5 as far as there is memory for their results.
herr_t write_at_once(Object& dataset, const CompressedWrite& write, const WriteArguments& arguments,
                     const char* reason) {
  compression::ChunkTable& table = services().chunks;
  std::vector<std::shared_ptr<compression::Chunk>> chunks =
      compression::chunks_of(services().compressed, box_of(*dataset.compressed, write, arguments, std::nullopt));
  std::vector<std::weak_ptr<compression::Chunk>> begun;  // not to keep what has been used
  begun.reserve(chunks.size());
  const auto go_on = [&] {
    while (begun.size() < chunks.size()) {
      std::shared_ptr<compression::Chunk>& next = chunks[begun.size()];
      std::optional<base::MemoryShare> memory = base::MemoryShare::of(services().lasting, next->working_bytes());
      if (!memory) {
        return;
      }
      const std::shared_ptr<compression::Chunk> chunk = std::move(next);
      begun.push_back(chunk);
      compression::compress_in_tasks({&chunk, 1}, *memory, current_operation().label());
      table.add(&dataset, chunk);
    }
  };
  table.before_each(go_on);
  const auto end = [&]() noexcept {
    table.before_each(nullptr);
    for (const auto& chunk : begun) {
      if (const std::shared_ptr<compression::Chunk> left = chunk.lock()) {
        left->abandon();
      }
    }
  };
  herr_t result = -1;
  try {
    go_on();
    result = call_write(dataset, arguments);
  } catch (...) {
    end();
    throw;
  }
  end();
  const Lock lock(services().stage.mutex);
  ++services().stage.statistics.foreground[reason];
  return result;
}

// Whether HDF5 would make a dataset of such chunks.
bool chunks_fit(const compression::ChunkLayout& layout, hid_t space) {
  const std::size_t rank = layout.chunk.size();
  std::vector<hsize_t> most(rank);
  if (H5Sget_simple_extent_ndims(space) != static_cast<int>(rank) ||
      H5Sget_simple_extent_dims(space, nullptr, most.data()) != static_cast<int>(rank) ||
      layout.chunk_bytes() > std::numeric_limits<std::uint32_t>::max()) {
    return false;
  }
  return std::ranges::equal(layout.chunk, most, [](hsize_t chunk, hsize_t limit) { return chunk <= limit; });
}

// The call that wrote has returned, so its answer cannot tell the program.
std::string fail(const Object& object, const char* name) {
  object.compressed->file->staged().fail({.call = name, .object = object.name}, innermost_error());
  if (const std::optional<H5O_info2_t> known = information_of(object, H5I_DATASET)) {
    object.compressed->file->lose(known->token);
  }
  object.compressed->lost = true;
  return object.compressed->file->staged().failure();
}

// In a file, for a call that may come to nothing.
class PromisedRoom {
 public:
  PromisedRoom(DriverFile* file, std::size_t bytes) noexcept : file_(file), bytes_(bytes) {}
  PromisedRoom(const PromisedRoom&) = delete;
  PromisedRoom& operator=(const PromisedRoom&) = delete;
  ~PromisedRoom() { file_->staged().forget_promise(bytes_); }
  std::size_t keep() noexcept { return std::exchange(bytes_, 0); }

 private:
  DriverFile* file_;
  std::size_t bytes_;
};

bool has_fill_value(hid_t creation) {
  H5D_fill_value_t kind = H5D_FILL_VALUE_ERROR;
  return H5Pfill_value_defined(creation, &kind) < 0 || kind == H5D_FILL_VALUE_USER_DEFINED;
}

bool exists(const Object& parent, H5I_type_t kind, const char* name, hid_t properties) {
  const H5VL_loc_params_t place{.obj_type = kind,
                                .type = H5VL_OBJECT_BY_NAME,
                                .loc_data = {.loc_by_name = {.name = name, .lapl_id = H5P_LINK_ACCESS_DEFAULT}}};
  hbool_t found = true;
  H5VL_link_specific_args_t arguments{};
  arguments.op_type = H5VL_LINK_EXISTS;
  arguments.args.exists.exists = &found;
  return H5VLlink_specific(parent.under, &place, parent.connector, &arguments, properties, nullptr) < 0 || found;
}

}  // namespace

Postponed& Postponed::instance() {
  static auto* const made = new Postponed;  // HDF5 may close files after destructors have run
  return *made;
}

std::optional<herr_t> Postponed::write(Object& dataset, const WriteArguments& arguments, Operation& operation) {
  if (!dataset.compression_known) {
    dataset.compressed = compressed_dataset(dataset, arguments.properties);
    dataset.compression_known = true;
  }
  if (dataset.compressed == nullptr) {
    return std::nullopt;
  }
  const QuietErrors quiet;  // what is wrong is HDF5's to tell
  const CompressedDataset& known = *dataset.compressed;
  const std::optional<CompressedWrite> write = compressed_write(dataset, known, arguments);
  if (!write) {
    return std::nullopt;
  }
  if (operation.bound) {
    // The task would wait for the call, and the call for the program's next one.
    return write->contiguous ? std::optional(write_at_once(dataset, *write, arguments, "compressed writes in tasks"))
                             : std::nullopt;
  }
  // Copies of all, and of each chunk what is to be compressed and the result.
  std::optional<base::MemoryShare> memory = reserve(write->bytes + 2 * write->chunks * known.layout->chunk_bytes());
  if (!memory) {
    // Making what was postponed may have told that there is no such dataset.
    return write->contiguous && !known.lost
               ? std::optional(write_at_once(dataset, *write, arguments,
                                             "compressed writes larger than the buffer (DOVETAIL_HDF5_BUFFER)"))
               : std::nullopt;
  }
  // Deflate makes a little more of what it cannot compress.
  const std::size_t room = write->chunks * (known.layout->chunk_bytes() + known.layout->chunk_bytes() / 512 + 64);
  if (!known.file->staged().promise_space(room)) {
    make_all();
    return write->contiguous && !known.lost
               ? std::optional(write_at_once(dataset, *write, arguments, "no room on the file system"))
               : std::nullopt;
  }
  PromisedRoom promised(known.file, room);
  const std::shared_ptr<const compression::Box> box = box_of(known, *write, arguments, memory->split(write->bytes));
  if (box == nullptr) {
    return std::nullopt;
  }
  const auto chunks = compression::chunks_of(services().compressed, box);
  Pending call{.object = &dataset,
               .name = "H5Dwrite",
               .make =
                   [&dataset, box, space = kept_space(arguments.file_space),
                    properties = kept_list(arguments.properties, H5P_DATASET_XFER_DEFAULT)] {
                     // Of the shape of the file's selection, which HDF5 copies fastest.
                     const Identifier shape(
                         H5Screate_simple(static_cast<int>(box->shape.size()), box->shape.data(), nullptr), H5Sclose);
                     return call_write(dataset, {.type = dataset.compressed->type.get(),
                                                 .memory_space = shape.get(),
                                                 .file_space = space->get(),
                                                 .properties = properties->get(),
                                                 .data = box->data});
                   },
               .chunks = chunks};
  compression::compress_in_tasks(chunks, *memory, operation.label());
  for (const auto& chunk : chunks) {
    services().chunks.add(&dataset, chunk);
  }
  if (operation.asynchronous) {
    call.transfers = operation.counted();
  }
  call.room = promised.keep();
  push(std::move(call));
  if (operation.asynchronous) {
    const Lock lock(services().stage.mutex);
    ++operation.transfers->outstanding;
  }
  make_within(0);
  return 0;
}

Object* Postponed::create(const Object& parent, const H5VL_loc_params_t& place, const char* name,
                          const CreateArguments& arguments) {
  if (calls_.empty() || parent.under == nullptr || place.type != H5VL_OBJECT_BY_SELF || name == nullptr ||
      *name == '\0' || std::strcmp(name, ".") == 0 || std::strchr(name, '/') != nullptr ||
      H5Pget_nfilters(arguments.creation) <= 0) {
    return nullptr;
  }
  const QuietErrors quiet;
  if (H5Sget_simple_extent_type(arguments.space) != H5S_SIMPLE || H5Tcommitted(arguments.type) != 0 ||
      has_fill_value(arguments.creation) || exists(parent, place.obj_type, name, arguments.properties)) {
    return nullptr;
  }
  std::string path = path_below(parent.name.get(), name);
  auto known = compressed_dataset(arguments.creation, arguments.type, file_of(parent, place.obj_type));
  if (names_.contains(path) || known == nullptr || known->file->identifier_closed() ||
      !chunks_fit(*known->layout, arguments.space)) {
    return nullptr;
  }
  known->space_to_be = Identifier(H5Scopy(arguments.space), H5Sclose);
  H5Sselect_all(known->space_to_be.get());
  names_.insert(path);
  Object* const dataset = to_be_made(parent.connector, std::move(path));
  dataset->compressed = std::move(known);
  push({.object = dataset,
        .name = "H5Dcreate",
        .make = [dataset, under = parent.under, place, child = std::string(name),
                 links = kept_list(arguments.links, H5P_LINK_CREATE_DEFAULT), space = kept_space(arguments.space),
                 creation = kept_list(arguments.creation, H5P_DATASET_CREATE_DEFAULT),
                 access = kept_list(arguments.access, H5P_DATASET_ACCESS_DEFAULT),
                 properties = kept_list(arguments.properties, H5P_DATASET_XFER_DEFAULT)] {
          dataset->under = H5VLdataset_create(under, &place, dataset->connector, child.c_str(), links->get(),
                                              dataset->compressed->type.get(), space->get(), creation->get(),
                                              access->get(), properties->get(), nullptr);
          dataset->to_be_made = false;
          return dataset->under != nullptr ? 0 : -1;
        }});
  return dataset;
}

bool Postponed::extend(Object& dataset, const hsize_t* size, hid_t properties) {
  if (calls_.empty() || dataset.compressed == nullptr || size == nullptr) {
    return false;
  }
  const QuietErrors quiet;
  const std::size_t rank = dataset.compressed->layout->chunk.size();
  Identifier space(space_of(dataset, properties), H5Sclose);
  std::vector<hsize_t> now(rank);
  std::vector<hsize_t> most(rank);
  if (!space.valid() || H5Sget_simple_extent_dims(space.get(), now.data(), most.data()) != static_cast<int>(rank)) {
    return false;
  }
  for (std::size_t i = 0; i < rank; ++i) {
    if (size[i] < now[i] || size[i] > most[i]) {
      return false;  // what is cut off may have been written; what is too large is HDF5's to tell
    }
  }
  if (H5Sset_extent_simple(space.get(), static_cast<int>(rank), size, most.data()) < 0) {
    return false;
  }
  push({.object = &dataset,
        .name = "H5Dset_extent",
        .make = [&dataset, wanted = std::vector<hsize_t>(size, size + rank),
                 list = kept_list(properties, H5P_DATASET_XFER_DEFAULT)] {
          return call_extend(dataset, wanted.data(), list->get());
        }});
  dataset.compressed->space_to_be = std::move(space);
  return true;
}

bool Postponed::close(Object& object, H5I_type_t kind, herr_t (*under)(void*, hid_t, hid_t, void**)) {
  if (calls_.empty()) {
    return false;
  }
  const DriverFile* const file = object.compressed != nullptr ? object.compressed->file : file_of(object, kind);
  if (file == nullptr || file->identifier_closed()) {
    return false;
  }
  push({.object = &object,
        .name = kind == H5I_GROUP ? "H5Gclose" : "H5Dclose",
        .make = [&object, under] { return under(object.under, object.connector, H5P_DATASET_XFER_DEFAULT, nullptr); },
        .last = true});
  return true;
}

void Postponed::push(Pending call) {
  calls_.push_back(std::move(call));
  if (calls_.back().object->compressed != nullptr) {
    ++calls_.back().object->compressed->postponed;
  }
}

void Postponed::make_all() noexcept { make_within(forever); }

bool Postponed::make_within(std::uint64_t nanoseconds) noexcept {
  if (makes_them_ || calls_.empty()) {
    return calls_.empty();
  }
  makes_them_ = true;
  const std::uint64_t begin = base::nanoseconds();
  while (!calls_.empty() &&
         (nanoseconds == forever || next_is_ready(nanoseconds - std::min(nanoseconds, base::nanoseconds() - begin)))) {
    Pending call = std::move(calls_.front());
    calls_.pop_front();
    make(call);
  }
  makes_them_ = false;
  if (calls_.empty()) {
    names_.clear();
  }
  return calls_.empty();
}

bool Postponed::next_is_ready(std::uint64_t nanoseconds) const noexcept {
  Services& here = services();
  const Lock lock(here.stage.mutex);
  return here.stage.wait_for(nanoseconds, here.report.of(Cause::request), [&] {
    return std::ranges::all_of(calls_.front().chunks, [](const auto& chunk) { return chunk->ended(); });
  });
}

void Postponed::make(Pending& call) noexcept {
  Object& object = *call.object;
  Operation operation{.call = call.name,
                      .object = object.name,
                      .child = nullptr,
                      .asynchronous = call.transfers != nullptr,
                      .bound = false,
                      .postponed = true,
                      .promises = {},
                      .transfers = call.transfers};
  if (call.room != 0) {
    object.compressed->file->staged().forget_promise(call.room);  // its writes take their own
  }
  std::string failure;
  // One that could not be made has failed once and for all.
  if (object.under != nullptr || object.to_be_made) {
    const LibraryContext context;
    const Within within(operation);
    const QuietErrors quiet;
    herr_t result = -1;
    try {
      result = call.make();
    } catch (const std::exception& thrown) {
      push_exception(thrown);
    }
    if (result < 0 && object.compressed != nullptr) {
      failure = fail(object, call.name);
    }
  }
  call.make = nullptr;  // and its identifiers
  if (object.compressed != nullptr && --object.compressed->postponed == 0) {
    object.compressed->space_to_be = {};  // HDF5 knows it now
  }
  if (call.transfers != nullptr) {
    if (failure.empty() && object.compressed->lost) {
      failure = object.compressed->file->staged().failure();
    }
    staging::Calls tell;
    {
      const Lock lock(services().stage.mutex);
      call.transfers->one_ended(failure, base::nanoseconds(), tell);
      services().stage.notify();
    }
    for (const auto& say : tell) {
      say();
    }
  }
  if (call.last) {
    services().chunks.drop(&object);
    unwrap(&object);
  }
}

}  // namespace dovetail::hdf5
