#include "tasking/stop_requests.hpp"

#include <algorithm>

#include "tasking/task.hpp"

namespace dovetail::tasking {

std::stop_source StopRequests::source_of(Task* task) {
  const base::LockGuard lock(mutex_);
  const auto found = std::ranges::find(all_, task, [](const auto& entry) { return entry.first; });
  if (found != all_.end()) {
    return found->second;
  }
  TaskExtra& extra = extra_of(task);
  all_.emplace_back(task, std::stop_source());
  extra.asked_for_stop_token = true;
  return all_.back().second;
}

void StopRequests::forget(const Task* task) noexcept {
  const base::LockGuard lock(mutex_);
  std::erase_if(all_, [task](const auto& entry) { return entry.first == task; });
}

std::vector<std::stop_source> StopRequests::of_cancelled(bool (*is_cancelled)(const Task*)) {
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
