// Reads ahead what tasks have declared that cannot begin yet. One for each runtime whose environment asks for it.
#pragma once

#include <cstdint>
#include <memory>

#include "base/mutex.hpp"
#include "prefetch/fetch.hpp"
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
  static std::shared_ptr<PendingTask> describe(const AccessList& accesses);

  template <class Change>
  void change(Change change);
  void read() noexcept;
  void begin();
  bool next(Wanted& wanted);
  void refresh_window();

  detail::RuntimeCore& core_;
  const Settings settings_;
  mutable base::Mutex mutex_;
  PendingReads pending_ GUARDED_BY(mutex_);
  std::uint64_t window_ GUARDED_BY(mutex_);
  bool reading_ GUARDED_BY(mutex_) = false;
  tasking::ExecutorWork work_{[this] { read(); }};
  // For the executor that reads.
  Fetch fetch_;
  std::vector<Wanted> batch_;
  std::uint64_t bytes_together_ = 0;  // of the next batch, about
  std::uint64_t window_since_ = 0;    // nanoseconds
};

}  // namespace dovetail::prefetching
