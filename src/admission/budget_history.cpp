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

void Budget::merge_intervals() {
  std::size_t kept = 0;
  for (std::size_t index = 0; index < intervals_.size(); index += 2) {
    Interval both = intervals_[index];
    both.length *= 2;
    if (index + 1 < intervals_.size()) {
      both.megabytes += intervals_[index + 1].megabytes;
      both.task_seconds += intervals_[index + 1].task_seconds;
    }
    intervals_[kept++] = both;
  }
  intervals_.resize(kept);
  interval_ *= 2;
}

void Budget::note_transfer(double begin, double end, double megabytes) {
  if (intervals_.empty()) {
    intervals_.push_back({begin, interval_, 0, 0});
  }
  const double origin = intervals_.front().seconds;
  const auto index_of = [&](double at) REQUIRES(mutex_) {
    return static_cast<std::size_t>(std::max(0.0, at - origin) / interval_);
  };
  while (index_of(end) >= most_intervals) {
    merge_intervals();
  }
  while (intervals_.size() <= index_of(end)) {
    intervals_.push_back({origin + static_cast<double>(intervals_.size()) * interval_, interval_, 0, 0});
  }
  // When in its time a task transferred is not known; that it was all at the end would show more than any device gives.
  const double length = end - begin;
  for (std::size_t index = index_of(begin); index <= index_of(end); ++index) {
    Interval& interval = intervals_[index];
    const double inside = std::min(end, interval.seconds + interval_) - std::max(begin, interval.seconds);
    const double share = length > 0 ? std::max(0.0, inside) / length : 1;
    interval.megabytes += megabytes * share;
    interval.task_seconds += length * share;
  }
}

}  // namespace dovetail::admission
