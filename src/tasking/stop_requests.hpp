// The stop tokens that tasks have asked for.
#pragma once

#include <stop_token>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "dovetail/detail/body.hpp"

namespace dovetail::tasking {

using detail::Task;

/// Of one runtime. Thread-safe.
class StopRequests {
 public:
  /// What the tokens of a task come from, the same at each call. From then on `of_cancelled` finds it.
  std::stop_source source_of(Task* task);
  /// The task completes. Only for one that has asked.
  void forget(const Task* task) noexcept;
  /// Of all tasks that are cancelled by now, as `is_cancelled` says. The caller requests the stop: what hangs on a token may do anything.
  std::vector<std::stop_source> of_cancelled(bool (*is_cancelled)(const Task*));

 private:
  base::Mutex mutex_;
  std::vector<std::pair<const Task*, std::stop_source>> all_ GUARDED_BY(mutex_);
};

}  // namespace dovetail::tasking
