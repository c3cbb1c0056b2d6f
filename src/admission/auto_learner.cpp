#include "admission/auto_learner.hpp"

#include <algorithm>
#include <cmath>

namespace dovetail::admission {
namespace {
// Of constraints that divide the bandwidth exactly, and of sums of them, but for rounding.
constexpr double rounding = 1e-9;
}  // namespace

AutoLearner::AutoLearner(const StorageBandwidth& constraint, double bandwidth, unsigned executors)
    : bandwidth_(bandwidth),
      executors_(std::max(1U, executors)),
      bounded_(constraint.kind() == StorageBandwidth::Kind::bounded),
      constraint_(bandwidth / executors_) {
  if (bounded_) {
    // No more than the device has: above it, each epoch would be one task alone again.
    maximum_ = std::min(constraint.maximum(), bandwidth);
    factor_ = constraint.delta();
    constraint_ = std::min(constraint.minimum(), bandwidth);
  }
}

unsigned AutoLearner::at_once(double constraint) const noexcept {
  const double count = std::floor(bandwidth_ / constraint * (1 + rounding));
  return static_cast<unsigned>(std::clamp(count, 1.0, static_cast<double>(executors_)));
}

bool AutoLearner::ended(double seconds, bool failed) {
  ++tasks_learning_;
  if (failed) {
    --admitted_;
    return false;
  }
  ++ended_;
  seconds_ += seconds;
  // An epoch ends when as many tasks have ended as may run at once (section 3.3.1). In the paper's k-means these are 225 + 112 +
  // 56 + 28 + 14 tasks.
  if (ended_ < at_once()) {
    return false;
  }
  end_epoch();
  return true;
}

void AutoLearner::end_epoch() {
  const Entry entry{constraint_, at_once(), seconds_ / ended_};
  admitted_ = 0;
  ended_ = 0;
  seconds_ = 0;
  // The unbounded one stops, and does not register the epoch, once a doubled constraint no longer halves the time (section 3.3.1;
  // section 5.2.1: the fourth epoch violates it and three are in the registry).
  const bool continues = bounded_ || registry_.empty() || entry.seconds <= registry_.back().seconds / 2;
  if (continues) {
    registry_.push_back(entry);
  }
  const double next = constraint_ * factor_;
  const double last = bounded_ ? maximum_ : bandwidth_;
  if (continues && next <= last * (1 + rounding)) {
    constraint_ = next;
    return;
  }
  learning_ = false;
}

double AutoLearner::estimate(std::uint64_t tasks, const Entry& entry) noexcept {
  const std::uint64_t groups = tasks / entry.at_once;
  const std::uint64_t remainder = tasks % entry.at_once;
  // The paper adds an estimate for the remainder and leaves open which (section 4.2.3 C). A group takes t_c however many of its
  // places are taken: the average that was measured, and never too little.
  return static_cast<double>(groups + (remainder != 0 ? 1 : 0)) * entry.seconds;
}

void AutoLearner::requests(std::uint64_t ready) {
  const Entry* best = nullptr;
  double least = 0;
  for (const Entry& entry : registry_) {
    const double seconds = estimate(std::max<std::uint64_t>(1, ready), entry);
    // Constraints ascend: a tie goes to the highest, "because it result[s] in the minimum I/O congestion" (section 4.2.3 C).
    if (best == nullptr || seconds <= least * (1 + rounding)) {
      best = &entry;
      least = seconds;
    }
  }
  if (best != nullptr) {
    constraint_ = best->constraint;
  }
}

}  // namespace dovetail::admission
