#include "checkpoint_writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "hash.hpp"
#include "options.hpp"

namespace heat {
namespace {

using dovetail::File;
using dovetail::Future;
using dovetail::in;
using dovetail::inout;
using dovetail::out;

// I/O first: the sooner the device is busy, the more computing there is to hide it behind.
constexpr int io_priority = 1;

// Numbers last: tools that sum up a trace take tasks whose labels differ there only for one kind.
std::string place(const Block& block) {
  return " (" + std::to_string(block.row) + "," + std::to_string(block.column) + ")";
}

void sync_directory(const std::string& directory) { File::open(directory, O_RDONLY | O_DIRECTORY).fsync(); }

// Unless the file holds a complete checkpoint. An empty file is thereby always one that something has cut short.
void mark_unused(const File& file, const Shape& shape) {
  AlignedBuffer header(page);
  const std::size_t present = file.pread(header.bytes(), 0);
  const DecodedHeader decoded = decode_header(header.bytes().first(present));
  if (!decoded.info || decoded.info->state != State::complete) {
    encode_header({State::unused, 0, shape, 0}, header.bytes());
    file.pwrite(header.bytes(), 0);
  }
}

}  // namespace

std::string slot_path(const std::string& directory, std::size_t slot) {
  return directory + "/checkpoint-" + std::to_string(slot) + ".heat";
}

std::string final_path(const std::string& directory) { return directory + "/final.heat"; }

std::vector<File> open_slots(const std::string& directory, const std::vector<std::size_t>& order,
                             dovetail::Direct direct, const Shape& shape, bool made) {
  std::vector<File> files;
  for (const std::size_t slot : order) {
    const std::string path = slot_path(directory, slot);
    struct stat status{};
    if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
      throw BadInput(path + ": is no regular file, and a checkpoint is to be written there; remove it");
    }
    files.push_back(File::open(path, made ? O_RDWR | O_CREAT : O_RDWR, {.direct = direct}));
    if (made) {
      mark_unused(files.back(), shape);
    }
  }
  if (made) {
    sync_directory(directory);
  }
  return files;
}

File open_partial(const std::string& directory, dovetail::Direct direct, bool made) {
  return File::open(final_path(directory) + ".partial", made ? O_RDWR | O_CREAT | O_TRUNC : O_RDWR, {.direct = direct});
}

void publish_partial(const std::string& directory) {
  const std::string path = final_path(directory);
  if (::rename((path + ".partial").c_str(), path.c_str()) != 0) {
    throw dovetail::IoError(errno, "rename", path, 0, 0);
  }
  sync_directory(directory);
}

// What blocks are written from: a copy of the field, or the field itself; and the table of their hashes.
struct CheckpointWriter::Source {
  Source(const Field& original, const Part& part, const FileLayout& places, bool copied)
      : field(original),
        copy(copied ? std::make_unique<Field>(original.shape()) : nullptr),
        table(places.table_bytes),
        all_hashes(reinterpret_cast<std::uint64_t*>(table.data()), part.whole.blocks()),
        hashes(all_hashes.subspan(part.first_block(), part.blocks())) {}

  std::span<const std::byte> bytes(const Block& block) const {
    return copy != nullptr ? std::as_const(*copy).bytes(block) : field.bytes(block);
  }

  const Field& field;
  std::unique_ptr<Field> copy;
  AlignedBuffer table;
  std::span<std::uint64_t> all_hashes;
  std::span<std::uint64_t> hashes;  // of the blocks of this process
};

// One checkpoint on its way to the disk.
struct CheckpointWriter::Job {
  CheckpointInfo info;
  File file;
  std::shared_ptr<Source> source;
  AlignedBuffer header{page};

  std::string label(const std::string& what) const { return what + ", step " + std::to_string(info.step); }
};

CheckpointWriter::CheckpointWriter(dovetail::Runtime& runtime, const Field& field, BlockIo io, Meter& meter,
                                   WriterSettings settings)
    : runtime_(runtime),
      field_(field),
      io_(io),
      meter_(meter),
      settings_(std::move(settings)),
      part_(settings_.part.value_or(Part::all(field.shape()))),
      layout_(part_.whole),
      slots_(open_slots(settings_.directory, settings_.slot_order, settings_.direct, part_.whole, is_first())) {
  if (settings_.coauthors != nullptr) {
    // Now, since they find the file only after rank 0 has made it.
    partial_ = open_partial(settings_.directory, settings_.direct, is_first());
  }
  for (std::size_t i = 0; i < std::max<std::size_t>(settings_.copies, 1); ++i) {
    sources_.push_back(std::make_shared<Source>(field_, part_, layout_, settings_.copies > 0));
  }
}

bool CheckpointWriter::is_first() const { return settings_.coauthors == nullptr || settings_.coauthors->rank() == 0; }

Future<void> CheckpointWriter::write_checkpoint(std::uint64_t step) {
  auto job = std::make_shared<Job>();
  job->info = {State::being_written, step, part_.whole, 0};
  job->file = slots_[spawned_ % slots_.size()];
  job->source = sources_[spawned_ % sources_.size()];
  ++spawned_;
  spawn_all(job);
  return runtime_.spawn({.label = job->label("commit"),
                         .access = {in(job->file, 0, layout_.total_bytes), inout(order_)},
                         .priority = io_priority},
                        [this, job] {
                          committed_step_ = job->info.step;
                          ++committed_count_;
                        });
}

Future<void> CheckpointWriter::write_final(std::uint64_t step) {
  auto job = std::make_shared<Job>();
  job->info = {State::being_written, step, part_.whole, 0};
  job->file = partial_ ? *partial_ : open_partial(settings_.directory, settings_.direct);
  job->source = std::make_shared<Source>(field_, part_, layout_, false);
  spawn_all(job);
  return runtime_.spawn({.label = job->label("publish"),
                         .access = {in(job->file, 0, layout_.total_bytes), inout(order_)},
                         .priority = io_priority,
                         .io = true},
                        [this, job] {
                          if (is_first()) {
                            publish_partial(settings_.directory);
                            final_checksum_ = job->info.table_hash;
                          }
                        });
}

void CheckpointWriter::spawn_all(const std::shared_ptr<Job>& job) {
  if (!is_first()) {
    spawn_permission(job);
    spawn_blocks(job);
    spawn_sync(job, "sync data");
    spawn_hand_in(job);
    return;
  }
  spawn_reserve(job);
  spawn_blocks(job);
  if (settings_.coauthors != nullptr) {
    spawn_gather(job);
  }
  spawn_table(job);
  spawn_sync(job, "sync data");
  spawn_header(job);
  spawn_sync(job, "sync header");
}

// Takes the file over from the checkpoint that it held: from now on its header says that it is not complete. That mark
// need not be durable, for the hashes of the old blocks do not fit the new ones either.
void CheckpointWriter::spawn_reserve(const std::shared_ptr<Job>& job) {
  runtime_.spawn({.label = job->label("reserve"),
                  .access = {inout(job->file, 0, layout_.total_bytes), inout(order_)},
                  .priority = io_priority},
                 [this, job] {
                   io_.reserve(job->file, layout_.total_bytes);
                   encode_header(job->info, job->header.bytes());
                   io_.write(job->file, job->header.bytes(), 0);
                 });
  spawn_ended(job, 0, layout_.total_bytes, page);
}

// In place of the reservation, where rank 0 makes that. From then on the tasks are the same.
void CheckpointWriter::spawn_permission(const std::shared_ptr<Job>& job) {
  runtime_.spawn({.label = job->label("await the reservation"),
                  .access = {inout(job->file, 0, layout_.total_bytes), inout(order_)},
                  .priority = io_priority,
                  .onready = [this] { settings_.coauthors->expect_permission(); }},
                 [] {});
}

// Rank 0 tells the others that the file is theirs, and awaits the hashes of their blocks, which say that these are on disk. By `order_` the
// hashes of one checkpoint at a time are under way.
void CheckpointWriter::spawn_gather(const std::shared_ptr<Job>& job) {
  Coauthors* const coauthors = settings_.coauthors;
  for (std::size_t rank = 1; rank < coauthors->count(); ++rank) {
    runtime_.spawn(
        {.label = job->label("tell rank " + std::to_string(rank)), .access = {in(order_)}, .priority = io_priority},
        [coauthors, rank] { coauthors->allow(rank); });
    const Part part = Part::of_rank(part_.whole, rank, coauthors->count());
    const std::span<std::uint64_t> place = job->source->all_hashes.subspan(part.first_block(), part.blocks());
    runtime_.spawn({.label = job->label("hashes of rank " + std::to_string(rank)),
                    .access = {out(place), in(order_)},
                    .priority = io_priority,
                    .onready = [coauthors, rank, place] { coauthors->expect_hashes(rank, place); }},
                   [coauthors, rank, place] { coauthors->take_hashes(rank, place); });
  }
}

// In place of the table and the header: the part is on disk, and rank 0 may say so.
void CheckpointWriter::spawn_hand_in(const std::shared_ptr<Job>& job) {
  runtime_.spawn({.label = job->label("hashes for rank 0"),
                  .access = {in(job->source->hashes), in(job->file, 0, layout_.total_bytes), inout(order_)},
                  .priority = io_priority},
                 [this, job] { settings_.coauthors->send_hashes(job->source->hashes); });
}

// Writes into the reserved space are `inout`. A task with `out` runs even if the task before it failed, and nothing may be written after a failed
// reservation.
void CheckpointWriter::spawn_blocks(const std::shared_ptr<Job>& job) {
  const std::shared_ptr<Source>& source = job->source;
  for (std::size_t i = 0; i < field_.blocks().size(); ++i) {
    const Block& block = field_.blocks()[i];
    const dovetail::Access hash = out(source->hashes[i]);
    const auto take = [this, job, &block, i] {
      const ComputeScope scope(meter_);
      Source& target = *job->source;
      if (target.copy != nullptr) {
        std::memcpy(target.copy->bytes(block).data(), field_.bytes(block).data(), block.padded_bytes);
      }
      target.hashes[i] = hash_bytes(target.bytes(block));
    };
    const std::string label = job->label("copy") + place(block);
    if (source->copy != nullptr) {
      runtime_.spawn({.label = label,
                      .access = {in(field_.bytes(block)), out(source->bytes(block)), hash},
                      .priority = io_priority},
                     take);
    } else {
      runtime_.spawn({.label = label, .access = {in(field_.bytes(block)), hash}, .priority = io_priority}, take);
    }
    const std::uint64_t offset = layout_.data_offset + part_.offset() + block.offset;
    const std::string write_label = job->label("write") + place(block);
    runtime_.spawn(
        {.label = write_label,
         .access = {in(source->bytes(block)), in(source->hashes[i]), inout(job->file, offset, block.padded_bytes)},
         .priority = io_priority},
        [this, job, &block, offset] { io_.write(job->file, job->source->bytes(block), offset); });
    spawn_ended(job, offset, block.padded_bytes, block.padded_bytes);
  }
}

void CheckpointWriter::spawn_table(const std::shared_ptr<Job>& job) {
  runtime_.spawn({.label = job->label("write table"),
                  .access = {in(job->source->all_hashes), inout(job->file, layout_.table_offset, layout_.table_bytes)},
                  .priority = io_priority},
                 [this, job] {
                   job->info.table_hash = hash_bytes(std::as_bytes(job->source->all_hashes));
                   io_.write(job->file, job->source->table.bytes(), layout_.table_offset);
                 });
  spawn_ended(job, layout_.table_offset, layout_.table_bytes, layout_.table_bytes);
}

void CheckpointWriter::spawn_sync(const std::shared_ptr<Job>& job, const std::string& label) {
  runtime_.spawn(
      {.label = job->label(label), .access = {inout(job->file, 0, layout_.total_bytes)}, .priority = io_priority},
      [this, job] { io_.sync(job->file); });
  spawn_ended(job, 0, layout_.total_bytes, 0);
}

// Reads the data, as it were: they must be there, and on disk, before a header may say so.
void CheckpointWriter::spawn_header(const std::shared_ptr<Job>& job) {
  runtime_.spawn({.label = job->label("write header"),
                  .access = {inout(job->file, 0, page), in(job->file, page, layout_.total_bytes - page)},
                  .priority = io_priority},
                 [this, job] {
                   job->info.state = State::complete;
                   encode_header(job->info, job->header.bytes());
                   io_.write(job->file, job->header.bytes(), 0);
                 });
  spawn_ended(job, 0, page, page);
}

// Depends, by the file region, on the task that asked for an operation there.
void CheckpointWriter::spawn_ended(const std::shared_ptr<Job>& job, std::uint64_t offset, std::uint64_t length,
                                   std::uint64_t written) {
  runtime_.spawn({.label = job->label("ended"), .access = {in(job->file, offset, length)}, .priority = io_priority},
                 [this, written] { io_.ended(written); });
}

}  // namespace heat
