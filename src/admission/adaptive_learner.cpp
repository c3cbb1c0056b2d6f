#include "admission/adaptive_learner.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace dovetail::admission {
namespace {

// Levels within this of the best count as equal; the one with the fewest tasks is taken.
constexpr double tie = 0.02;
// A sample belongs to a level only if about so many tasks were there all the time.
constexpr double steady = 0.15;
constexpr double nearly_whole = 0.25;
// More than this share of the gain that twice the tasks could bring means that the device is not yet busy.
constexpr double rising = 0.5;
// The rate at the held level has changed if a block of samples differs by this, or by more than chance explains.
constexpr double changed = 0.15;
constexpr double chance = 3;
// Share of the device's time that looking around may cost, and how many tasks lie between two looks at least.
constexpr double price_of_looking = 0.01;
constexpr unsigned between_looks = 32;
// What a level is assumed to lose that was never measured.
constexpr double assumed_loss = 0.25;
constexpr unsigned forget_after = 64;

unsigned samples_needed(unsigned at_once) noexcept { return std::max(2U, (at_once + 1) / 2); }
// Levels closer than this are not told apart by a search.
unsigned resolution(unsigned at_once) noexcept { return std::max(1U, at_once / 4); }

}  // namespace

AdaptiveLearner::AdaptiveLearner(unsigned most) : most_(std::max(1U, most)) {}

void AdaptiveLearner::set_most(unsigned most) noexcept {
  most_ = std::max(1U, most);
  limit_ = std::min(limit_, most_);
}

double AdaptiveLearner::rate() const noexcept {
  if (!searching_ && reference_ > 0) {
    return reference_;
  }
  const auto found = best();
  return found == levels_.end() ? 0 : found->second.rate();
}

bool AdaptiveLearner::measured(unsigned at_once) const noexcept {
  const auto found = levels_.find(at_once);
  return found != levels_.end() && found->second.count >= samples_needed(at_once);
}

// The fewest tasks that give as much as any number does.
AdaptiveLearner::Levels::const_iterator AdaptiveLearner::best() const noexcept {
  double most = 0;
  for (const auto& [at_once, level] : levels_) {
    most = measured(at_once) ? std::max(most, level.rate()) : most;
  }
  return std::find_if(levels_.begin(), levels_.end(), [&](const auto& entry) {
    return most > 0 && measured(entry.first) && entry.second.rate() >= most * (1 - tie);
  });
}

bool AdaptiveLearner::ended(const Sample& sample) {
  const double nearest = std::max(1.0, std::round(sample.at_once));
  if (sample.seconds <= 0 || sample.work <= 0 || sample.deviation > steady * nearest ||
      std::abs(sample.at_once - nearest) > nearly_whole) {
    return false;
  }
  const auto at_once = static_cast<unsigned>(nearest);
  Level& level = levels_[at_once];
  level.work += sample.work;
  level.device_seconds += sample.seconds / sample.at_once;
  if (++level.count > forget_after) {
    level = {level.work / 2, level.device_seconds / 2, level.count / 2};
  }
  if (searching_) {
    return at_once == limit_ && measured(limit_) && decide();
  }
  if (at_once == limit_) {
    held(sample);
  }
  return false;
}

void AdaptiveLearner::measure(unsigned at_once) {
  searching_ = true;
  limit_ = at_once;
  levels_.erase(at_once);
}

// Goes on searching, or holds the best level and returns true.
bool AdaptiveLearner::decide() {
  const auto found = best();
  if (const unsigned next = next_to_measure(found); next != 0) {
    measure(next);
    return false;
  }
  hold(found->first);
  return true;
}

// 0 if the best level is enclosed by levels that are not better.
unsigned AdaptiveLearner::next_to_measure(Levels::const_iterator found) const noexcept {
  const unsigned at = found->first;
  unsigned lower = 0;
  unsigned upper = 0;
  for (const auto& entry : levels_) {
    if (measured(entry.first)) {
      lower = entry.first < at ? entry.first : lower;
      upper = entry.first > at && upper == 0 ? entry.first : upper;
    }
  }
  if (upper == 0 && at < most_) {
    const unsigned step = lower == 0 ? (at == 1 ? 1 : (at + 1) / 2) : resolution(at);
    const bool free_device =
        lower != 0 && found->second.rate() / levels_.at(lower).rate() >= 1 + rising * (1.0 * at / lower - 1);
    return std::min(free_device ? at * 2 : at + step, most_);
  }
  if (upper != 0 && upper - at > resolution(at)) {
    return (at + upper) / 2;
  }
  if (at - lower > resolution(at)) {
    return (at + lower + 1) / 2;
  }
  return 0;
}

void AdaptiveLearner::hold(unsigned at_once) {
  searching_ = false;
  limit_ = at_once;
  reference_ = levels_[at_once].rate();
  block_ = {};
  held_ = 0;
}

void AdaptiveLearner::held(const Sample& sample) {
  const double device_seconds = sample.seconds / sample.at_once;
  block_.work += sample.work;
  block_.device_seconds += device_seconds;
  ++block_.count;
  ++held_;
  credit_ += price_of_looking * device_seconds;
  if (reference_ > 0) {
    const double off = std::abs(sample.work / device_seconds / reference_ - 1);
    spread_ += (std::min(off, 1.0) - spread_) / 16;
  }
  if (block_.count >= std::max(4U, limit_)) {
    end_block();
  }
  if (!searching_ && held_ >= between_looks) {
    look_around();
  }
}

void AdaptiveLearner::end_block() {
  const double rate = block_.rate();
  const double by_chance = chance * spread_ / std::sqrt(static_cast<double>(block_.count));
  block_ = {};
  if (reference_ <= 0) {
    reference_ = rate;
    return;
  }
  const double ratio = rate / reference_;
  if (std::abs(ratio - 1) > std::max(changed, by_chance)) {
    // The device is another one now: what was measured of the old one does not count.
    levels_.clear();
    measure(limit_);
    spread_ = 0;
    credit_ = 0;
    return;
  }
  // A slow drift takes the levels along that are not measured meanwhile.
  const double drift = 1 + (ratio - 1) / 4;
  reference_ *= drift;
  for (auto& [at_once, level] : levels_) {
    if (at_once != limit_) {
      level.work *= drift;
    }
  }
}

// Measures a neighbour again when the device's time that this is expected to cost has been saved up.
void AdaptiveLearner::look_around() {
  for (int direction = 0; direction < 2; ++direction) {
    const bool up = std::exchange(upwards_, !upwards_);
    const unsigned step = std::max(1U, limit_ / 8);
    if (up ? limit_ + step > most_ : limit_ <= step) {
      continue;
    }
    const unsigned neighbour = up ? limit_ + step : limit_ - step;
    const auto known = levels_.find(neighbour);
    const double rate =
        known != levels_.end() && known->second.rate() > 0 ? known->second.rate() : reference_ * (1 - assumed_loss);
    const auto here = levels_.find(limit_);
    const double device_seconds = here->second.device_seconds / here->second.count;
    // The tasks that are counted, and those under way when the level changes back.
    const double cost = (samples_needed(neighbour) + neighbour) * device_seconds * std::max(0.0, reference_ / rate - 1);
    if (cost <= credit_) {
      credit_ -= cost;
      measure(neighbour);
      return;
    }
  }
}

void AdaptiveLearner::recall(const Memory& memory) {
  if (memory.at_once == 0) {
    return;
  }
  levels_.clear();
  searching_ = false;
  limit_ = std::min(memory.at_once, most_);
  reference_ = memory.rate;
  block_ = {};
}

AdaptiveLearner::Memory AdaptiveLearner::remember() const noexcept { return {limit_, reference_}; }

}  // namespace dovetail::admission
