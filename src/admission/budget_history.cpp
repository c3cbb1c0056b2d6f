// What a budget keeps for reports.
#include <algorithm>

#include "admission/budget.hpp"

namespace dovetail::admission {
namespace {
constexpr std::size_t most_changes = 4096;
constexpr std::size_t most_intervals = 4096;
}  // namespace

void Budget::note(TaskType& type, double now) {
  const ConstraintChange change{now, constraint(type), at_once(type), type.waiting, type.tasks, type.learning()};
  if (!type.history.empty() && type.history.back().at_once == change.at_once &&
      type.history.back().learning == change.learning) {
    return;
  }
  if (type.history.size() >= most_changes) {
    std::size_t kept = 0;
    for (std::size_t index = 0; index < type.history.size(); index += 2) {
      type.history[kept++] = type.history[index];
    }
    type.history.resize(kept);
  }
  type.history.push_back(change);
}

void Budget::note_adaptive(double now) {
  for (const auto& type : types_) {
    if (type->tuned()) {
      note(*type, now);
    }
  }
}

void Budget::note_transfer(double now, double megabytes, double task_seconds) {
  if (intervals_.empty() || now >= intervals_.back().seconds + interval_) {
    if (intervals_.size() >= most_intervals) {
      interval_ *= 2;
      std::size_t kept = 0;
      for (std::size_t index = 0; index + 1 < intervals_.size(); index += 2) {
        Interval both = intervals_[index];
        both.megabytes += intervals_[index + 1].megabytes;
        both.task_seconds += intervals_[index + 1].task_seconds;
        both.length = intervals_[index + 1].seconds + intervals_[index + 1].length - both.seconds;
        intervals_[kept++] = both;
      }
      intervals_.resize(kept);
    }
    intervals_.push_back({now, interval_, 0, 0});
  }
  intervals_.back().megabytes += megabytes;
  intervals_.back().task_seconds += task_seconds;
}

}  // namespace dovetail::admission
