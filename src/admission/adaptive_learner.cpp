#include "admission/adaptive_learner.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace dovetail::admission {
namespace {

// Two, so that a program of two tasks has both at once; a device that is best with one costs two slow tasks to find out.
constexpr unsigned first_level = 2;
// Levels within this of the best count as equal; the one with the fewest tasks is taken.
constexpr double tie = 0.02;
// A sample belongs to a level only if about so many tasks were there all the time.
constexpr double steady = 0.15;
constexpr double nearly_whole = 0.25;
// More than this share of the gain that twice the tasks could bring means that the device is not yet busy.
constexpr double rising = 0.7;
// The rate at the held level has changed if a block of samples differs by this, and by more than chance explains.
constexpr double changed = 0.15;
constexpr double chance = 3;
// Standard error that the mean of a level may have, and how many samples that is worth at most.
constexpr double precision = 0.08;
constexpr double most_samples = 24;
// Share of the device's time that looking around may cost, and how many tasks lie between two looks at least.
constexpr double price_of_looking = 0.01;
constexpr unsigned between_looks = 32;
// What a level is assumed to lose that was never measured.
constexpr double assumed_loss = 0.25;
// After a change, a neighbour that used to lose more than this is left to looking around, on the side where it is not expected.
constexpr double unpromising = 0.1;
constexpr unsigned forget_after = 64;

unsigned least_samples(unsigned at_once) noexcept { return std::max(2U, (at_once + 1) / 2); }
// Levels closer than this are not told apart by a search.
unsigned resolution(unsigned at_once) noexcept { return std::max(1U, at_once / 4); }

}  // namespace

AdaptiveLearner::AdaptiveLearner(unsigned most) : most_(std::max(1U, most)), limit_(std::min(first_level, most_)) {}

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

double AdaptiveLearner::rate(double at_once) const noexcept {
  const auto found = levels_.find(static_cast<unsigned>(std::lround(std::max(1.0, at_once))));
  return found == levels_.end() ? 0 : found->second.rate();
}

// Tasks of equal size on a quiet device need few; where they differ, or the device does, their mean must be precise enough.
unsigned AdaptiveLearner::samples_needed(unsigned at_once) const noexcept {
  const double variance = scatter_weight_ > 0 ? scatter_ / scatter_weight_ : 0;
  const double for_precision = std::min(most_samples, std::ceil(variance / (precision * precision)));
  return std::max(least_samples(at_once), static_cast<unsigned>(for_precision));
}

void AdaptiveLearner::note_scatter(const Level& level, double device_seconds_per_work) noexcept {
  if (level.count == 0) {
    return;
  }
  const double off = std::min(2.0, device_seconds_per_work * level.rate() - 1);
  scatter_ += off * off * level.count / (level.count + 1);
  if (++scatter_weight_ > forget_after) {
    scatter_ /= 2;
    scatter_weight_ /= 2;
  }
}

// The fewest tasks that give as much as any number does.
AdaptiveLearner::Levels::const_iterator AdaptiveLearner::best() const noexcept {
  const auto measured = [](const auto& entry) { return entry.second.count >= least_samples(entry.first); };
  double most = 0;
  for (const auto& entry : levels_) {
    most = measured(entry) ? std::max(most, entry.second.rate()) : most;
  }
  return std::find_if(levels_.begin(), levels_.end(), [&](const auto& entry) {
    return measured(entry) && most > 0 && entry.second.rate() >= most * (1 - tie);
  });
}

bool AdaptiveLearner::ended(const Sample& sample) {
  const double nearest = std::max(1.0, std::round(sample.at_once));
  if (sample.seconds <= 0 || sample.work <= 0 || sample.deviation > steady * nearest ||
      std::abs(sample.at_once - nearest) > nearly_whole) {
    return false;
  }
  const auto at_once = static_cast<unsigned>(nearest);
  const double device_seconds = sample.seconds / sample.at_once;
  Level& level = levels_[at_once];
  note_scatter(level, device_seconds / sample.work);
  level.work += sample.work;
  level.device_seconds += device_seconds;
  if (++level.count > forget_after) {
    level = {level.work / 2, level.device_seconds / 2, level.count / 2};
  }
  if (searching_) {
    return at_once == limit_ && level.count >= samples_needed(at_once) && decide();
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
    if (levels_.contains(next)) {
      limit_ = next;  // more of the same: what is known of it counts
    } else {
      measure(next);
    }
    return false;
  }
  hold(found->first);
  return true;
}

// 0 if the best level is enclosed by levels that are not better, and all three are known well enough.
unsigned AdaptiveLearner::next_to_measure(Levels::const_iterator found) const noexcept {
  const unsigned at = found->first;
  unsigned lower = 0;
  unsigned upper = 0;
  for (const auto& [at_once, level] : levels_) {
    if (level.count >= least_samples(at_once)) {
      lower = at_once < at ? at_once : lower;
      upper = at_once > at && upper == 0 ? at_once : upper;
    }
  }
  for (const unsigned known : {at, upper, lower}) {
    if (known != 0 && levels_.at(known).count < samples_needed(known)) {
      return known;
    }
  }
  const unsigned above = next_above(at, lower, upper);
  const unsigned below = next_below(at, lower);
  return slower_ && below != 0 ? below : (above != 0 ? above : below);
}

unsigned AdaptiveLearner::next_above(unsigned at, unsigned lower, unsigned upper) const noexcept {
  if (upper != 0) {
    return upper - at > resolution(at) ? (at + upper) / 2 : 0;
  }
  if (at >= most_) {
    return 0;
  }
  const bool first = held_before_ == 0 && lower == 0;
  const bool free_device =
      lower != 0 && levels_.at(at).rate() / levels_.at(lower).rate() >= 1 + rising * (1.0 * at / lower - 1);
  const unsigned next = std::min(first || free_device ? at * 2 : at + resolution(at), most_);
  return slower_ && at == held_before_ && !promising(next, at) ? 0 : next;
}

unsigned AdaptiveLearner::next_below(unsigned at, unsigned lower) const noexcept {
  if (at - lower <= resolution(at)) {
    return 0;
  }
  if (lower == 0 && at == held_before_) {
    const unsigned next = at - resolution(at);
    return !slower_ && !promising(next, at) ? 0 : next;
  }
  return (at + lower) / 2;
}

bool AdaptiveLearner::promising(unsigned neighbour, unsigned at) const noexcept {
  const auto there = shape_.find(neighbour);
  const auto here = shape_.find(at);
  return there == shape_.end() || here == shape_.end() ||
         there->second.rate() >= here->second.rate() * (1 - unpromising);
}

void AdaptiveLearner::hold(unsigned at_once) {
  searching_ = false;
  limit_ = at_once;
  held_before_ = at_once;
  slower_ = false;
  reference_ = levels_[at_once].rate();
  begin_block();
  held_ = 0;
}

void AdaptiveLearner::begin_block() noexcept {
  block_ = {};
  scatter_before_block_ = scatter_;
  scatter_weight_before_block_ = scatter_weight_;
}

void AdaptiveLearner::held(const Sample& sample) {
  const double device_seconds = sample.seconds / sample.at_once;
  block_.work += sample.work;
  block_.device_seconds += device_seconds;
  ++block_.count;
  ++held_;
  credit_ += price_of_looking * device_seconds;
  if (block_.count >= std::max({4U, limit_, samples_needed(limit_)})) {
    end_block();
  }
  if (!searching_ && held_ >= between_looks) {
    look_around();
  }
}

void AdaptiveLearner::end_block() {
  const double rate = block_.rate();
  const double variance = scatter_weight_before_block_ > 0 ? scatter_before_block_ / scatter_weight_before_block_ : 0;
  const double by_chance = chance * std::sqrt(variance / block_.count);
  const double ratio = reference_ > 0 ? rate / reference_ : 1;
  if (std::abs(ratio - 1) > std::max(changed, by_chance)) {
    // The device is another one now: what was measured of the old one does not count. If it has become slower, it is more likely
    // that there are too many tasks now than too few.
    scatter_ = scatter_before_block_;
    scatter_weight_ = scatter_weight_before_block_;
    for (auto& entry : levels_) {
      entry.second.work *= ratio;
    }
    shape_ = std::exchange(levels_, {});
    credit_ = 0;
    slower_ = ratio < 1;
    measure(limit_);
    return;
  }
  // A slow drift takes the levels along that are not measured meanwhile.
  const double drift = 1 + (ratio - 1) / 4;
  reference_ = reference_ > 0 ? reference_ * drift : rate;
  for (auto& [at_once, level] : levels_) {
    if (at_once != limit_) {
      level.work *= drift;
    }
  }
  begin_block();
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
  limit_ = held_before_ = std::min(memory.at_once, most_);
  reference_ = memory.rate;
  begin_block();
}

AdaptiveLearner::Memory AdaptiveLearner::remember() const noexcept { return {limit_, reference_}; }

}  // namespace dovetail::admission
