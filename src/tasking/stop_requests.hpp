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
  /// The token of a task, the same at each call. Stop is requested at once if the task has been cancelled.
  std::stop_token token_of(Task* task);
  /// The task completes. Only for one that has asked.
  void forget(const Task* task) noexcept;
  /// Of all tasks that are cancelled by now. The caller requests the stop: what hangs on a token may do anything.
  std::vector<std::stop_source> of_cancelled();

 private:
  base::Mutex mutex_;
  std::vector<std::pair<const Task*, std::stop_source>> all_ GUARDED_BY(mutex_);
};

}  // namespace dovetail::tasking
