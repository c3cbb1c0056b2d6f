// A file that is read from what ended processes have left of it in the tier, and from the final file below that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/byte_range.hpp"
#include "base/descriptor.hpp"
#include "base/mutex.hpp"
#include "staging/drain.hpp"
#include "staging/file_parts.hpp"
#include "staging/left_logs.hpp"
#include "staging/log_segment.hpp"
#include "staging/staged_contents.hpp"
#include "staging/tier_folders.hpp"

namespace dovetail::staging {

/// Thread-safe. Holds no lock: others may drain or discard the logs at any time, and it reads from the segments that it has open, which never change. What a drain brings into the final file
/// are the same bytes. Once a log has been drained, it reads the final file in its place, and so what others have written since.
class UndrainedFile {
 public:
  struct Opened {
    std::unique_ptr<UndrainedFile> file;
    FileFailure
        failure;  ///< Such as `ENOENT`: a log has been drained meanwhile. `EMFILE`: it would take more than half of the descriptors.
  };
  /// `logs`, `parts`: what `find_left_logs` and `read_left_logs` have told, here or in other processes; of all logs, in their order.
  static Opened open(const std::vector<LeftLog>& logs, std::span<const LeftIndex> parts, const std::string& final_path,
                     FileCalls& calls = FileCalls::system());
  UndrainedFile(const UndrainedFile&) = delete;
  UndrainedFile& operator=(const UndrainedFile&) = delete;

  /// Fewer bytes than wanted without a failure: the file ends there. Blocks.
  FileRead read(std::uint64_t offset, std::span<std::byte> target) const;
  /// Of what is not drained, in bytes from the beginning of the file; 0: all is.
  std::uint64_t staged_end() const;

  /// The logs that are still there, locked and marked: `recover_taken` drains them. A process that recovers the file meanwhile waits until they are destroyed. Ends before one
  /// that another process has. The caller has the `TierLock`. Reads no segments. @throws std::bad_alloc
  TakenWriters take_to_drain() const;

  /// Forgets the logs that others have drained or discarded since. One look at the file system for each log.
  void forget_drained();
  /// Also those that were superseded, which are never drained.
  void forget_superseded();

 private:
  struct Log {
    LeftLog name;
    std::shared_ptr<const LogSegment> oldest{};  // which a drain removes first; null: nothing of the log counts
  };
  struct Segment {
    std::shared_ptr<const LogSegment> segment;
    std::size_t log = 0;
  };
  UndrainedFile(base::Descriptor final_file, const std::string& final_path, FileCalls& calls);
  void take(const std::vector<LeftLog>& logs) EXCLUDES(mutex_);
  FileFailure take(const LeftIndex& part) EXCLUDES(mutex_);
  std::uint64_t staged_end_now() const REQUIRES(mutex_);
  template <class Condition>
  void forget_if(const Condition& condition) EXCLUDES(mutex_);

  FileCalls& calls_;
  const base::Descriptor descriptor_;
  const FinalFile final_;
  mutable base::Mutex mutex_;
  std::vector<Segment> segments_ GUARDED_BY(mutex_);
  std::vector<Log> logs_ GUARDED_BY(mutex_);
  StagedContents::Index index_ GUARDED_BY(mutex_);
};

}  // namespace dovetail::staging
