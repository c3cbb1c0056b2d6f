#include "tasking/stop_requests.hpp"

#include <algorithm>

#include "tasking/lifecycle.hpp"
#include "tasking/task.hpp"

namespace dovetail::tasking {

std::stop_token StopRequests::token_of(Task* task) {
  std::stop_source source;
  {
    const base::LockGuard lock(mutex_);
    const auto found = std::ranges::find(all_, task, [](const auto& entry) { return entry.first; });
    if (found != all_.end()) {
      return found->second.get_token();
    }
    TaskExtra& extra = extra_of(task);
    all_.emplace_back(task, source);
    extra.asked_for_stop_token = true;
  }
  // After it can be found: whoever cancels from now on finds it.
  if (is_cancelled(task)) {
    source.request_stop();
  }
  return source.get_token();
}

void StopRequests::forget(const Task* task) noexcept {
  const base::LockGuard lock(mutex_);
  std::erase_if(all_, [task](const auto& entry) { return entry.first == task; });
}

std::vector<std::stop_source> StopRequests::of_cancelled() {
  std::vector<std::stop_source> cancelled;
  const base::LockGuard lock(mutex_);
  for (const auto& [task, source] : all_) {
    if (is_cancelled(task)) {
      cancelled.push_back(source);
    }
  }
  return cancelled;
}

}  // namespace dovetail::tasking
