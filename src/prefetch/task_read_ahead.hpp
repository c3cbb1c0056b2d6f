// Reads ahead what tasks have declared that cannot begin yet. One for each runtime, unless the environment forbids it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/mutex.hpp"
#include "prefetch/fetch.hpp"
#include "prefetch/file_interest.hpp"
#include "prefetch/pending_reads.hpp"
#include "prefetch/settings.hpp"
#include "tasking/access_observer.hpp"
#include "tasking/executor_work.hpp"

namespace dovetail::prefetching {

class TaskReadAhead : public tasking::AccessObserver {
 public:
  TaskReadAhead(detail::RuntimeCore& core, const Settings& settings);

  std::unique_ptr<tasking::ObservedTask> spawned(const AccessList& accesses) noexcept override;
  /// Whether an executor reads, or is about to. Nothing changes that but tasks that are spawned, begin or complete.
  bool reading() const;
  /// Bytes that were read ahead, or are about to be, of tasks that have not begun.
  std::uint64_t ahead() const;

 private:
  class Observed;
  /// What one file has of a batch.
  struct Part {
    Wanted wanted;
    std::uint64_t space = 0;
    std::uint32_t tasks = 0;
  };
  std::shared_ptr<PendingTask> describe(const AccessList& accesses) const;
  struct Interest {
    bool notes = false;
    bool looks = false;    // the task is noted as well if something of what it reads is missing
    bool in_order = true;  // all that is read
  };
  Interest interest_of(const AccessList& accesses);
  bool is_in_memory(const FilePart& part) const;
  /// Whether all that the task reads is in memory. Tells its files.
  bool is_there(const PendingTask& task);
  bool is_at_rest(const AccessList& accesses) const noexcept;
  void keep_at_rest(std::uint64_t space, std::uint64_t until) noexcept;
  void begins(PendingTask& task);
  FileInterest* interest_in(std::uint64_t space) REQUIRES(mutex_);
  /// Calls `tell` with what is known of the file, and of new files if it is one.
  template <class Tell>
  void tell(std::uint64_t space, const Tell& tell) REQUIRES(mutex_);
  bool leaves_new_files(std::uint64_t space) REQUIRES(mutex_);
  void limit_whole_files(PendingTask& task) const;

  template <class Change>
  void change(Change change);
  void read() noexcept;
  void begin();
  bool next(Wanted& wanted);
  void take_batch();
  void tell_what_was_there();
  void refresh_window();

  detail::RuntimeCore& core_;
  const Settings settings_;
  mutable base::Mutex mutex_;
  PendingReads pending_ GUARDED_BY(mutex_);
  std::unordered_map<std::uint64_t, FileInterest> interests_ GUARDED_BY(mutex_);  // by space
  FileInterest new_files_ GUARDED_BY(mutex_){{}};                                 // in each of which few tasks read
  std::uint64_t window_ GUARDED_BY(mutex_);
  // Files that rest, for a look without the lock, each at a place that follows from its space. Of two files at one place the numbers may be mixed up: some tasks are not
  // noted then.
  struct Resting {
    std::atomic<std::uint64_t> space = 0;
    std::atomic<std::uint64_t> until = 0;  // nanoseconds
  };
  std::array<Resting, 64> resting_;
  bool reading_ GUARDED_BY(mutex_) = false;
  tasking::ExecutorWork work_{[this] { read(); }};
  // For the executor that reads.
  Fetch fetch_;
  std::vector<Part> batch_;
  Part looked_at_;                    // what `next` gave last
  std::uint64_t bytes_together_ = 0;  // of the next batch, about
  std::uint64_t window_since_ = 0;    // nanoseconds
};

}  // namespace dovetail::prefetching
