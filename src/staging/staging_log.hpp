// The log of one file on the local tier: what the program wrote, in the order of its calls, until it is in the final file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "staging/file_calls.hpp"
#include "staging/file_failure.hpp"
#include "staging/log_folder.hpp"
#include "staging/log_place.hpp"
#include "staging/log_record.hpp"
#include "staging/log_replay.hpp"
#include "staging/log_segment.hpp"

namespace dovetail::staging {

/// Thread-safe, save where a function says otherwise. Its functions block the thread and do not suspend a task. Each failure leaves the log
/// as it was, as far as its readers are concerned. All may throw std::bad_alloc.
class StagingLog {
 public:
  using Segments = std::map<std::uint32_t, std::shared_ptr<const LogSegment>>;

  struct Settings {
    LogIdentity identity = 0;
    std::size_t segment_bytes = 0;  ///< A segment that has as many takes no more. At most 2 GiB.
  };
  /// The folder is this process's. `found` and `replayed` are what is in it.
  StagingLog(FileCalls& calls, LogFolder folder, const Settings& settings, const std::vector<FoundSegment>& found,
             const Replay& replayed);

  struct Appended {
    LogPlace place;  ///< Of the data.
    FileFailure failure;
  };
  /// At most `most_record_bytes`. It survives the process when this returns, and the machine after the next `sync`.
  Appended append(RecordKind kind, std::uint64_t offset, std::span<const std::byte> data);
  /// Makes all that was appended durable. After a failure the records of that segment stay doubtful: the kernel tells of it once, and may have
  /// dropped them. So it fails until they have been drained.
  FileFailure sync();

  /// A part of the log that does not grow any more.
  struct Sealed {
    std::uint32_t segment = 0;   ///< This one and those before it.
    std::uint64_t sequence = 0;  ///< Of its last record.
    bool empty = false;          ///< Nothing was written since the last durable note, if there is one.
  };
  Sealed seal();
  /// Nothing that was appended is still to be synced.
  bool is_durable() const;
  /// Says durably, behind all that was sealed, that its drain begins and changes the final file from `end` on alone. Where that cannot be said, the log has to be
  /// durable before the final file changes.
  FileFailure note_draining(std::uint64_t end);
  /// The sealed segments, for as long as the caller keeps them.
  Segments segments(const Sealed& sealed) const;
  /// Null: it was removed.
  std::shared_ptr<const LogSegment> segment(std::uint32_t number) const;
  /// Reads and checks all records that were sealed.
  FileFailure verify(const Sealed& sealed) const;
  /// All that was sealed is durable in the final file: says so. From now on the sealed records do not count, and must not be applied again: what
  /// comes later may already be in the final file.
  FileFailure note_drained(const Sealed& sealed);
  /// Makes that note durable.
  FileFailure sync_note(const Sealed& sealed);
  /// Gives back the space of sealed segments, after `sync_note`.
  FileFailure remove(const Sealed& sealed);
  /// Removes all segments. All was drained, and nothing else is called afterwards.
  FileFailure remove_all();

  const LogFolder& folder() const noexcept { return folder_; }
  /// Of all segments: what the log takes on the tier.
  std::uint64_t bytes() const;

 private:
  struct Kept {
    std::shared_ptr<LogSegment> segment;
    std::optional<std::uint64_t> whole_bytes;  // of one that was found; one that was made here is whole
    std::uint64_t durable_bytes = 0;
    FileFailure doubt;            // why it could not be made durable
    bool has_notes_only = false;  // of drains: it is synced without waiting for what was written meanwhile
  };
  FileFailure append_at(RecordKind kind, std::uint64_t offset, std::span<const std::byte> data, std::uint64_t checksum,
                        LogPlace& place) REQUIRES(mutex_);
  FileFailure append_note(RecordKind kind, std::uint64_t offset) REQUIRES(mutex_);
  FileFailure sync_notes() REQUIRES(syncing_) EXCLUDES(mutex_);
  FileFailure begin_segment() REQUIRES(mutex_);
  FileFailure sync_from(std::uint32_t number) REQUIRES(syncing_) EXCLUDES(mutex_);
  FileFailure sync_segment(std::uint32_t number) REQUIRES(syncing_) EXCLUDES(mutex_);
  FileFailure sync_folder() REQUIRES(syncing_) EXCLUDES(mutex_);
  FileFailure remove_until(std::uint32_t number) EXCLUDES(mutex_);
  void keep_reserve();
  bool give_up_reserve();

  FileCalls& calls_;
  const LogFolder folder_;
  const Settings settings_;

  /// One thread at a time: the one of two that the kernel does not tell of a failure would take the data for durable.
  base::Mutex syncing_;
  mutable base::Mutex mutex_;
  std::map<std::uint32_t, Kept> segments_ GUARDED_BY(mutex_);
  std::uint32_t next_number_ GUARDED_BY(mutex_) = 1;
  std::uint32_t current_ GUARDED_BY(mutex_) = 0;  // the segment that records are appended to; 0: the next one makes one
  std::uint32_t noting_ GUARDED_BY(mutex_) = 0;   // the segment of the last note
  std::uint64_t next_sequence_ GUARDED_BY(mutex_) = 1;
  std::uint64_t last_change_ GUARDED_BY(mutex_) = 0;  // the newest record that changes the file
  std::uint64_t durable_ GUARDED_BY(mutex_) = 0;      // up to this record
  std::uint64_t noted_ GUARDED_BY(mutex_) = 0;        // up to this record a durable note says that it is drained
  std::uint32_t named_ GUARDED_BY(mutex_) = 0;        // the names of the segments up to this one are durable
};

}  // namespace dovetail::staging
