/// @file
/// Writes checkpoints and the final field while the computation goes on. Everything is tasks: the order among computing,
/// copying, writing, syncing and overwriting follows from what each task says it reads and writes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "block_io.hpp"
#include "checkpoint_format.hpp"
#include "coauthors.hpp"
#include "dovetail/dovetail.hpp"
#include "field.hpp"
#include "meter.hpp"
#include "part.hpp"

namespace heat {

/// How many files take turns: the last two checkpoints are kept while a third is being written.
inline constexpr std::size_t slots = 3;

/// The file of one slot.
std::string slot_path(const std::string& directory, std::size_t slot);
/// The file of the final field.
std::string final_path(const std::string& directory);

/// Opens the files of the slots in this order, and those that hold no complete checkpoint get a header that says so. With `made` false they are
/// there already. @throws dovetail::IoError, BadInput
std::vector<dovetail::File> open_slots(const std::string& directory, const std::vector<std::size_t>& order,
                                       dovetail::Direct direct, const Shape& shape, bool made = true);
/// Opens, and makes or empties if `made`, the file which becomes that of the final field.
dovetail::File open_partial(const std::string& directory, dovetail::Direct direct, bool made = true);
/// Gives it its final name, durably. @throws dovetail::IoError
void publish_partial(const std::string& directory);

/// What a writer needs to know.
struct WriterSettings {
  std::string directory;
  dovetail::Direct direct = dovetail::Direct::never;
  std::size_t copies = 1;               ///< Spare fields to write from; 0 writes from the field itself.
  std::vector<std::size_t> slot_order;  ///< The slots, the one to be overwritten first in front.
  std::optional<Part> part = {};        ///< What the field is a part of; none: the field is the whole.
  Coauthors* coauthors = nullptr;       ///< The ranks that have the other parts; null: none.
};

/// Spawns the tasks of checkpoints. To be used by one thread, outside of tasks; must outlive those tasks.
class CheckpointWriter {
 public:
  /// Opens (and makes) the slots' files; with coauthors, rank 0 has to be the first. @throws dovetail::IoError, std::bad_alloc.
  CheckpointWriter(dovetail::Runtime& runtime, const Field& field, BlockIo io, Meter& meter, WriterSettings settings);

  /// Spawns what writes the field as the tasks spawned so far leave it. Tasks spawned later may change it.
  /// @returns the task after which the checkpoint is durable.
  dovetail::Future<void> write_checkpoint(std::uint64_t step);
  /// As `write_checkpoint`, into the file of the final field, which appears complete or not at all.
  dovetail::Future<void> write_final(std::uint64_t step);

  /// The step of the last checkpoint that this writer has made durable; 0: none. From any thread.
  std::uint64_t committed_step() const noexcept { return committed_step_.load(); }
  /// Checkpoints made durable. From any thread.
  std::uint64_t committed_count() const noexcept { return committed_count_.load(); }
  /// Checksum of the final field; with coauthors, rank 0 knows it. Valid once the task of `write_final` has completed.
  std::uint64_t final_checksum() const noexcept { return final_checksum_; }
  /// Whether checkpoints bypass the page cache.
  bool direct() const noexcept { return slots_.front().direct(); }
  /// Bytes of one checkpoint.
  std::uint64_t checkpoint_bytes() const noexcept { return layout_.total_bytes; }

 private:
  struct Source;
  struct Job;

  bool is_first() const;
  void spawn_reserve(const std::shared_ptr<Job>& job);
  void spawn_permission(const std::shared_ptr<Job>& job);
  void spawn_gather(const std::shared_ptr<Job>& job);
  void spawn_hand_in(const std::shared_ptr<Job>& job);
  void spawn_blocks(const std::shared_ptr<Job>& job);
  void spawn_table(const std::shared_ptr<Job>& job);
  void spawn_sync(const std::shared_ptr<Job>& job, const std::string& label);
  void spawn_header(const std::shared_ptr<Job>& job);
  void spawn_all(const std::shared_ptr<Job>& job);
  void spawn_ended(const std::shared_ptr<Job>& job, std::uint64_t offset, std::uint64_t length, std::uint64_t written);

  dovetail::Runtime& runtime_;
  const Field& field_;
  BlockIo io_;
  Meter& meter_;
  WriterSettings settings_;
  Part part_;
  FileLayout layout_;
  std::vector<dovetail::File> slots_;
  std::optional<dovetail::File> partial_;
  std::vector<std::shared_ptr<Source>> sources_;
  std::uint64_t spawned_ = 0;
  char order_ = 0;  // stands for "which checkpoints are on disk": makes one follow the other
  std::atomic<std::uint64_t> committed_step_{0};
  std::atomic<std::uint64_t> committed_count_{0};
  std::uint64_t final_checksum_ = 0;
};

}  // namespace heat
