// A file whose newest bytes are in a log on the local tier until they are drained into the final file. What was written survives the process, and
// after `sync` the machine: the next opening finds it. Reads see every write.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/byte_range.hpp"
#include "base/descriptor.hpp"
#include "base/mutex.hpp"
#include "staging/drain.hpp"
#include "staging/file_calls.hpp"
#include "staging/file_failure.hpp"
#include "staging/file_parts.hpp"
#include "staging/final_mark.hpp"
#include "staging/opened_log.hpp"
#include "staging/staged_contents.hpp"
#include "staging/staging_log.hpp"
#include "staging/tier_budget.hpp"
#include "staging/tier_settings.hpp"

namespace dovetail::staging {

/// Thread-safe. Its functions block the thread and do not suspend a task. All may throw std::bad_alloc. Others see the writes in the final file after
/// `drain`. One process at a time has the folder, and unless the file is shared it alone changes the final file
/// meanwhile.
class TieredFile {
 public:
  struct Opened {
    std::unique_ptr<TieredFile> file;
    FileFailure failure;
    bool is_superseded =
        false;  ///< The failure is that others have opened the file for writing since the log was written.
    std::vector<StagedTier> elsewhere{};  ///< Tiers that may hold bytes of the file that are not seen here.
  };
  /// @param folder in the tier; made if it does not exist, for this user alone. What is in it is read and checked.
  /// @param final_path a regular file that exists; absolute, without symbolic links
  static Opened open(const std::string& folder, const std::string& final_path, const TierSettings& settings = {});
  /// The same of a folder that the caller has locked: a look for what others have left finds it taken before its log is read. It is let go after a failure.
  static Opened open(OpenedFolder taken, const std::string& final_path, const TierSettings& settings = {});
  /// Leaves the log as it is.
  ~TieredFile() = default;
  TieredFile(const TieredFile&) = delete;
  TieredFile& operator=(const TieredFile&) = delete;

  /// Before the first change of a file that was opened with `reads_only`: takes a generation, as an opening for writing does. Otherwise, and again, it does
  /// nothing. @param elsewhere tiers that may hold bytes of the file that are not seen here
  FileFailure begin_writing(std::vector<StagedTier>& elsewhere);
  /// Where the tier is full or its budget spent, it drains first, and if that does not help it writes into the final file. After a failure some bytes from the beginning
  /// of the range may have been written.
  FileFailure write(std::uint64_t offset, std::span<const std::byte> data);
  /// The same, but fails (`ENOSPC`) where the tier is full or its budget spent. It only waits for other writers.
  FileFailure write_on_tier(std::uint64_t offset, std::span<const std::byte> data);
  /// Drains, and writes into the final file: where the tier has failed. It is durable with the next `sync` or `drain`, and before anything newer is.
  FileFailure write_through(std::uint64_t offset, std::span<const std::byte> data);
  /// As ftruncate. Where the tier is full, it drains first. Not for a shared file (`ENOTSUP`): what the others have in their logs is not known here.
  FileFailure set_size(std::uint64_t size);

  using Read = FileRead;
  Read read(std::uint64_t offset, std::span<std::byte> target) const;
  std::uint64_t size() const;
  /// Of what is not drained, in bytes from the beginning of the file; 0: all is.
  std::uint64_t staged_end() const;
  /// Something was found that was not drained.
  bool has_changes() const noexcept { return has_changes_; }

  /// Whether something of that range is not drained.
  bool has_staged(const base::ByteRange& range) const;

  /// Returns when all writes so far are durable on the tier, or in the final file if they went there. A failure of the latter stays. It fails (`ESTALE`)
  /// once others have opened the file for writing.
  FileFailure sync();
  /// Brings all that was written before the call into the final file, durably, and gives back its space on the tier. After a failure all
  /// is still in the log, and it can be called again.
  FileFailure drain();
  /// Drains, removes the log, and unless it is kept the folder. The final file says that nothing is staged, if this was the last log of the tier. Nothing
  /// may be called after it has succeeded.
  FileFailure finish(bool keeps_folder = false);
  /// Says, in the log's folder and with the final file, that the program has closed it, and that the drain goes on. A process that looks for what others have
  /// left then waits until this file is destroyed, which must not depend on that process. @param is_drained false: it stays in the log, and the final file says nothing else
  FileFailure note_closed(bool is_drained = true);
  /// The final file has no name any more. A drain brings the bytes into it, and fails nevertheless, since they go with the last descriptor.
  bool is_removed() const noexcept;
  /// Removes the folder without draining: of a file that has no name any more. Nothing may be called after it has succeeded.
  FileFailure forget();
  /// After one of the two: others that wait for the folder go on, though this object stays. The descriptor of the final file lives as long as it does: closing that
  /// would end the record locks of the process.
  void release() noexcept;

  Generation generation() const;

  /// What the log takes on the tier, in bytes.
  std::uint64_t log_bytes() const { return log_.bytes(); }
  /// Little of the tier's budget is left: a drain had better begin.
  bool is_tier_nearly_full() const noexcept { return budget_.is_nearly_spent(); }
  /// Bytes that went straight into the final file, since the tier was full or its budget spent.
  std::uint64_t written_through() const noexcept { return written_through_; }
  /// Parts of the index: what the memory for it grows with.
  std::size_t extents() const;

 private:
  struct Final {
    base::Descriptor descriptor{-1};
    FileIdentity identity;
    FileFailure failure;
  };
  static Final open_final(const std::string& folder, const std::string& path);
  static Opened open_on(Final final_file, OpenedFolder taken, const std::string& final_path,
                        const TierSettings& settings);
  TieredFile(base::Descriptor final_file, const std::string& final_path, OpenedLog log, const TierSettings& settings,
             StagedContents contents);
  std::uint64_t size_now() const REQUIRES(mutex_);
  std::uint64_t staged_end_now() const REQUIRES(mutex_);
  FileParts parts_of(std::uint64_t offset, std::size_t wanted) const EXCLUDES(mutex_);
  FileFailure append(std::uint64_t offset, std::span<const std::byte> data) REQUIRES(order_) EXCLUDES(mutex_);
  FileFailure settle_through() REQUIRES(order_);
  FileFailure append_size(std::uint64_t size) EXCLUDES(order_);
  /// Leaves in its parameters what it has not appended.
  FileFailure append_all(std::uint64_t& offset, std::span<const std::byte>& data) EXCLUDES(order_);
  struct Drain {
    StagingLog::Sealed sealed;
    DrainPlan plan;
  };
  Drain begin_drain() REQUIRES(draining_, order_) EXCLUDES(mutex_);
  FileFailure drain_sealed(const Drain& begun) REQUIRES(draining_) EXCLUDES(mutex_);
  FileFailure note_cut(const StagingLog::Sealed& found);
  std::optional<std::uint64_t> end_to_drain_behind(const Drain& begun) const;
  FileFailure bring_into_final(const Drain& begun) REQUIRES(draining_) EXCLUDES(mutex_);
  MarkedFile marked() const { return {.calls = calls_, .descriptor = final_.descriptor, .path = final_.path}; }
  FileFailure objection_to_drain() const;
  FileFailure make_named();

  const TierSettings settings_;
  FileCalls& calls_;
  const base::Descriptor descriptor_;
  const FinalFile final_;
  const bool has_changes_;
  StagingLog log_;
  base::Mutex draining_;
  /// Held while something is put into the log and then into the index, so that both have it in the same order. Readers wait for an append that is under way, not for its order.
  base::Mutex order_;
  TierBudget budget_;  // `take` only with `order_` held
  mutable base::Mutex mutex_;
  StagedContents contents_ GUARDED_BY(mutex_);
  Placement placement_ GUARDED_BY(mutex_);
  bool is_placed_ GUARDED_BY(draining_);
  std::atomic<bool> has_begun_;  // the log has its generation
  std::atomic<std::uint64_t> written_through_{0};
  bool through_is_durable_ GUARDED_BY(order_) = true;
  FileFailure through_failure_ GUARDED_BY(order_);
  std::atomic<bool> is_named_{false};  // the final file, its name and its mark survive the machine
};

}  // namespace dovetail::staging
