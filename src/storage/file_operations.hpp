// What performs the operations of a file whose bytes are not only where its descriptor leads. A room above implements it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "dovetail/file.hpp"

namespace dovetail::storage {

struct Operation;

/// Of one open file, which keeps it. All functions but the destructor block the thread and do not suspend. Any number of threads may call
/// them at once. They throw IoError or std::bad_alloc.
class FileOperations {
 public:
  FileOperations() = default;
  FileOperations(const FileOperations&) = delete;
  FileOperations& operator=(const FileOperations&) = delete;
  /// `close` was not called. Must not block.
  virtual ~FileOperations() = default;

  /// Performs it if that takes so little time that a worker may do it, and returns true; false: nothing is done. Of a transfer or a sync, as
  /// the next two. @param bytes those that were transferred
  virtual bool try_perform(const Operation& operation, std::uint64_t& bytes) = 0;
  /// @returns the bytes that were transferred.
  virtual std::uint64_t perform(const Operation& operation) = 0;
  /// For an operation that is bound to a task: what was written is then as durable as the task's completion promises.
  virtual std::uint64_t perform_bound(const Operation& operation) = 0;

  virtual std::uint64_t size() const = 0;
  virtual void set_size(std::uint64_t size) = 0;
  /// Returns when all that was written before the call is in the final file, durably.
  virtual void drain() = 0;
  /// No other operation is under way, and none follows.
  virtual void close() = 0;
};

/// Makes them for a file that is to be staged (`FileOptions::staged`). `path` was opened with these flags, without `O_TRUNC`, which is left
/// to it.
using StagedFileOpener = std::unique_ptr<FileOperations> (*)(const std::string& path, int flags,
                                                             const FileOptions& options);
/// Called once, by a static initialiser of the room that stages.
bool register_staged_file_opener(StagedFileOpener opener) noexcept;
std::unique_ptr<FileOperations> open_staged(const std::string& path, int flags, const FileOptions& options);

}  // namespace dovetail::storage
