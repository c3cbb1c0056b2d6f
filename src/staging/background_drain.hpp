// Drains files while the program goes on.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <vector>

#include "base/mutex.hpp"
#include "staging/file_failure.hpp"
#include "staging/tiered_file.hpp"
#include "tasking/executor_work.hpp"

namespace dovetail::staging {

/// Its drains are blocking work of the program's own runtime, or of a small one (tasking/background.hpp). They are no tasks: a wait for
/// all tasks does not wait for them, and no cancellation ends them. The end of the runtime waits for them. Thread-safe.
class BackgroundDrain {
 public:
  /// Told how a drain ended: an empty failure, or what is wrong. All is still in the log then. Other drains of the thread wait for it. Must not throw.
  using Done = std::function<void(const FileFailure&)>;

  /// @param most_at_once files that are drained side by side, at least 1
  explicit BackgroundDrain(unsigned most_at_once);
  /// As `wait`.
  ~BackgroundDrain();
  BackgroundDrain(const BackgroundDrain&) = delete;
  BackgroundDrain& operator=(const BackgroundDrain&) = delete;

  /// Brings what was written to the file before the call into the final file, and keeps the file until then. Calls that wait for the same file are
  /// one drain. `done` may be empty; it is called by the thread that drains. `file` may be null: then `done` drains what is not open yet. Does not suspend. Where no thread can be had it drains
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
  using AllRequested = std::list<Requested>;
  // One that drains, if there is something to drain.
  struct Drainer {
    explicit Drainer(BackgroundDrain& drain) : work([this, &drain] { drain.run(*this); }) {}
    tasking::ExecutorWork work;
  };
  void run(Drainer& drainer) noexcept;
  void keep(std::shared_ptr<TieredFile> file, Done done) REQUIRES(mutex_);
  AllRequested::iterator first_to_drain() REQUIRES(mutex_);

  std::vector<std::unique_ptr<Drainer>> drainers_;
  base::Mutex mutex_;
  base::ConditionVariable changed_;
  std::vector<Drainer*> idle_ GUARDED_BY(mutex_);  // of `drainers_`; has room for all
  AllRequested requested_ GUARDED_BY(mutex_);      // in the order of the calls
};

}  // namespace dovetail::staging
