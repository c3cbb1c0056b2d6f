// Drains files while the program goes on.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <vector>

#include "base/mutex.hpp"
#include "staging/file_failure.hpp"
#include "staging/tiered_file.hpp"

namespace dovetail::staging {

/// Its drains are I/O tasks of the program's own runtime, or of a small one (tasking/background.hpp). Thread-safe.
class BackgroundDrain {
 public:
  /// Told how a drain ended: an empty failure, or what is wrong. All is still in the log then. Must be short, and must not throw.
  using Done = std::function<void(const FileFailure&)>;

  /// @param most_at_once files that are drained side by side, at least 1
  explicit BackgroundDrain(unsigned most_at_once);
  /// As `wait`.
  ~BackgroundDrain();
  BackgroundDrain(const BackgroundDrain&) = delete;
  BackgroundDrain& operator=(const BackgroundDrain&) = delete;

  /// Brings what was written to the file before the call into the final file, and keeps the file until then. Calls that wait for the same file are
  /// one drain. `done` may be empty; it is called by the thread that drains. Does not suspend. Without memory for a task it drains
  /// before it returns. @throws std::bad_alloc, and has requested nothing
  void request(std::shared_ptr<TieredFile> file, Done done);
  /// Blocks until all that was requested has ended.
  void wait();

 private:
  struct Requested {
    std::shared_ptr<TieredFile> file;
    std::vector<Done> done;
    bool runs = false;
  };
  void run() noexcept;
  std::list<Requested>::iterator first_to_drain() REQUIRES(mutex_);

  const unsigned most_at_once_;
  base::Mutex mutex_;
  base::ConditionVariable changed_;
  std::list<Requested> requested_ GUARDED_BY(mutex_);  // in the order of the calls
  unsigned tasks_ GUARDED_BY(mutex_) = 0;
};

}  // namespace dovetail::staging
