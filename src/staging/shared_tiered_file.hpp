// A tiered file of this process: once, for all that have opened it, and drained in the background.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <compare>
#include <cstddef>
#include <memory>
#include <string>

#include "base/mutex.hpp"
#include "staging/file_failure.hpp"
#include "staging/tiered_file.hpp"

namespace dovetail::staging {

/// Thread-safe. Its functions block the thread and do not suspend a task, unless they say otherwise.
class SharedTieredFile : public std::enable_shared_from_this<SharedTieredFile> {
 public:
  struct Opened {
    std::shared_ptr<SharedTieredFile> file;
    FileFailure failure;
  };
  /// Each opening is followed by one `close` or `abandon`. @param tier a folder; `path` is a regular file that exists @param settings of the
  /// first opening, and `reads_only` of this one @throws std::bad_alloc
  static Opened open(const std::string& tier, const std::string& path, const TierSettings& settings = {});
  ~SharedTieredFile();
  SharedTieredFile(const SharedTieredFile&) = delete;
  SharedTieredFile& operator=(const SharedTieredFile&) = delete;

  TieredFile& file() noexcept { return *file_; }
  /// Held from a look at the size to what depends on it.
  base::Mutex end_of_file;

  /// In the child of a fork the file is its parent's. Nothing may be done with it but `abandon`, which does nothing then.
  bool is_of_this_process() const noexcept { return process_ == ::getpid(); }
  /// Something was written. Has it drained in the background once there is a segment of it. Blocks only where no thread can be had for that. Prints
  /// once that the tier is full.
  void wrote() noexcept;
  /// Of a drain in the background, since the last call. Until it is taken, no other begins by itself.
  FileFailure take_failure();
  /// Brings all into the final file, and removes the log if no other opening is left. A failure leaves the log on the tier, where the next
  /// opening finds it. @throws std::bad_alloc, and is closed
  FileFailure close();
  /// The same in the background, without waiting. A failure is printed.
  void abandon() noexcept;

 private:
  struct Identity {
    dev_t device = 0;
    ino_t inode = 0;
    auto operator<=>(const Identity&) const = default;
  };
  struct OpenFiles;
  /// Of all files of the process.
  static base::Mutex& lock_of_all() noexcept;
  SharedTieredFile(Identity identity, std::string folder, std::string path, std::unique_ptr<TieredFile> file,
                   std::size_t segment_bytes);
  std::shared_ptr<TieredFile> tiered() { return {shared_from_this(), file_.get()}; }
  FileFailure leave(bool drained);

  const Identity identity_;
  const std::string folder_;
  const std::string path_;
  const std::unique_ptr<TieredFile> file_;
  const std::size_t segment_bytes_;
  const pid_t process_ = ::getpid();
  unsigned openings_ GUARDED_BY(lock_of_all()) = 0;
  bool is_finished_ GUARDED_BY(lock_of_all()) = false;  // its log is removed
  std::atomic<bool> has_told_{false};
  std::atomic<bool> is_requested_{false};  // a drain in the background, or it has failed
  base::Mutex mutex_;
  FileFailure failure_ GUARDED_BY(mutex_);
};

}  // namespace dovetail::staging
