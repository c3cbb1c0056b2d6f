#include "compression/postponed.hpp"

#include <H5VLconnector_passthru.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "background.hpp"
#include "deferred_file.hpp"
#include "errors.hpp"
#include "library_context.hpp"

namespace dovetail::hdf5 {
namespace {

constexpr std::uint64_t forever = std::numeric_limits<std::uint64_t>::max();

std::optional<Reservation> reserve(std::size_t bytes) {
  if (std::optional<Reservation> found = Reservation::of(bytes)) {
    return found;
  }
  Postponed::instance().settle();
  std::optional<Reservation> found = Reservation::of(bytes);
  if (found || bytes > Background::instance().pool.most_reserved()) {
    return found;
  }
  // What is left is of chunks that HDF5 keeps in its cache, or that were overwritten there.
  ChunkTable::instance().drop_all();
  return Reservation::of(bytes);
}

herr_t call_write(const Object& dataset, WriteArguments arguments) {
  void* under = dataset.under;
  return H5VLdataset_write(1, &under, dataset.connector, &arguments.type, &arguments.memory_space,
                           &arguments.file_space, arguments.properties, &arguments.data, nullptr);
}

// Nobody is there to be told by the call itself.
void fail(const Object& dataset, const char* call) {
  if (dataset.compressed != nullptr) {
    dataset.compressed->lost = true;
    dataset.compressed->file->fail(call, dataset.name, innermost_error());
  }
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
  // Copies of all, and of each chunk what is to be compressed and the result.
  std::optional<Reservation> reservation =
      reserve(write->bytes + 2 * write->chunks * known.stored->chunk_bytes());
  if (!reservation) {
    return write->contiguous ? write_at_once(dataset, *write, arguments) : std::nullopt;
  }
  const std::shared_ptr<const Box> box = box_of(known, *write, arguments, reservation->part(write->bytes));
  if (box == nullptr) {
    return std::nullopt;
  }
  Pending call{.dataset = &dataset,
            .box = box,
            .chunks = compress_in_tasks(*write, box, std::move(*reservation), operation.label()),
            .file_space = arguments.file_space,
            .properties = arguments.properties,
            .transfers = nullptr};
  if (operation.asynchronous) {
    call.transfers = operation.begin_transfer();
    const Lock lock(Background::instance().mutex);
    ++call.transfers->outstanding;
  }
  // The program may change or close its own.
  if (call.file_space != H5S_ALL) {
    call.file_space = H5Scopy(call.file_space);
  }
  if (call.properties != H5P_DEFAULT && call.properties != H5P_DATASET_XFER_DEFAULT) {
    call.properties = H5Pcopy(call.properties);
  }
  for (const auto& chunk : call.chunks) {
    ChunkTable::instance().add(&dataset, chunk);
  }
  calls_.push_back(std::move(call));
  settle_within(0);
  return 0;
}

// There is no memory for a copy: the program waits, while tasks compress from its own memory.
std::optional<herr_t> Postponed::write_at_once(Object& dataset, const CompressedWrite& write,
                                               const WriteArguments& arguments) {
  const std::shared_ptr<const Box> box = box_of(*dataset.compressed, write, arguments, std::nullopt);
  const std::vector<std::shared_ptr<Chunk>> chunks = compress_in_tasks(write, box, {}, current_operation().label());
  for (const auto& chunk : chunks) {
    ChunkTable::instance().add(&dataset, chunk);
  }
  const herr_t result = call_write(dataset, arguments);
  for (const auto& chunk : chunks) {
    chunk->abandon();
  }
  Background& background = Background::instance();
  const Lock lock(background.mutex);
  ++background.report.foreground["compressed writes larger than the buffer has room for (DOVETAIL_HDF5_BUFFER)"];
  return result;
}

bool Postponed::close(Object& dataset) {
  if (calls_.empty()) {
    return false;
  }
  Pending call;
  call.dataset = &dataset;
  calls_.push_back(std::move(call));
  return true;
}

void Postponed::settle() noexcept { settle_within(forever); }

bool Postponed::settle_within(std::uint64_t nanoseconds) noexcept {
  if (settling_ || calls_.empty()) {
    return calls_.empty();
  }
  settling_ = true;
  Background& background = Background::instance();
  const std::uint64_t begin = now();
  while (!calls_.empty()) {
    if (nanoseconds != forever) {
      const std::uint64_t passed = now() - begin;
      Lock lock(background.mutex);
      const bool ready = background.wait_for(lock, nanoseconds - std::min(nanoseconds, passed), [&] {
        return std::ranges::all_of(calls_.front().chunks, [](const auto& chunk) { return chunk->ended(); });
      });
      if (!ready) {
        break;
      }
    }
    Pending call = std::move(calls_.front());
    calls_.pop_front();
    const LibraryContext context;
    make(call);
  }
  settling_ = false;
  return calls_.empty();
}

void Postponed::make(Pending& call) noexcept {
  try {
    if (call.box != nullptr) {
      make_write(call);
    } else {
      make_close(call.dataset);
    }
  } catch (const std::exception& thrown) {
    push_exception(thrown);
    fail(*call.dataset, call.box != nullptr ? "H5Dwrite" : "H5Dclose");
  }
}

void Postponed::make_write(const Pending& call) {
  const Object& dataset = *call.dataset;
  Operation operation{.call = "H5Dwrite",
                      .object = dataset.name,
                      .child = nullptr,
                      .asynchronous = call.transfers != nullptr,
                      .promises = {},
                      .transfers = call.transfers};
  const Within within(operation);
  // Of the shape of the file's selection, which HDF5 copies fastest.
  const std::vector<hsize_t>& shape = call.box->shape;
  const hid_t memory = H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
  std::string failure;
  {
    const QuietErrors quiet;
    const WriteArguments arguments{
        dataset.compressed->type, memory, call.file_space, call.properties, call.box->data};
    if (call_write(dataset, arguments) < 0) {
      fail(dataset, "H5Dwrite");
      failure = dataset.compressed->file->failure();
    }
  }
  H5Sclose(memory);
  if (call.file_space != H5S_ALL) {
    H5Sclose(call.file_space);
  }
  if (call.properties != H5P_DEFAULT && call.properties != H5P_DATASET_XFER_DEFAULT) {
    H5Pclose(call.properties);
  }
  if (call.transfers != nullptr) {
    std::vector<std::function<void()>> tell;
    {
      const Lock lock(Background::instance().mutex);
      call.transfers->one_ended(failure, now(), tell);
    }
    for (const auto& say : tell) {
      say();
    }
  }
}

void Postponed::make_close(Object* dataset) {
  Operation operation{.call = "H5Dclose",
                      .object = dataset->name,
                      .child = nullptr,
                      .asynchronous = false,
                      .promises = {},
                      .transfers = nullptr};
  const Within within(operation);
  {
    const QuietErrors quiet;
    if (H5VLdataset_close(dataset->under, dataset->connector, H5P_DATASET_XFER_DEFAULT, nullptr) < 0) {
      fail(*dataset, "H5Dclose");
    }
  }
  ChunkTable::instance().drop(dataset);
  unwrap(dataset);
}

}  // namespace dovetail::hdf5
