// Which level a search measures next, and which is the best of those that were measured.
#include <algorithm>
#include <iterator>

#include "admission/adaptive_learner.hpp"

namespace dovetail::admission {
namespace {

// The first tasks enter together, which can make their level look worse than it is by so much, but not better.
constexpr double hindered = 0.25;
// Levels within this of the best count as equal; the one with the fewest tasks is taken.
constexpr double tie = 0.01;
// A level below the one that was held may look so much better than it is. The tasks that are measured at it have prepared their data among
// more.
constexpr double flattery = 0.08;
// More than this share of the gain that twice the tasks could bring means that the device is not yet busy.
constexpr double rising = 0.8;
// A level that gives this much of what the device is said to give leaves too little to look for; one that gives so much shows that the device
// gives more than is said.
constexpr double nearly_all = 0.93;
constexpr double too_much = 1.12;
// After a change, a neighbour on the side where the best level is not expected is skipped, unless it lost less than this before. Later looks
// around still try it.
constexpr double unpromising = 0.1;
// A level is looked at if the measured curve promises so much more of it. Errors of 5 % at two of its points rarely add up to so much. With a
// lower bound a burst tries levels in vain, which delays its last tasks.
constexpr double worth_looking = 0.08;
// So much of a task is enough to see that a lower level may be better, which can always be measured.
constexpr double inkling = 0.3;

// Whether a level brings most of the gain over a lower one that more tasks bring where the device is not yet busy.
bool rises(unsigned at_once, double rate, unsigned lower, double lower_rate) noexcept {
  return rate >= lower_rate * (1 + rising * (1.0 * at_once / lower - 1));
}
// Levels closer than this are not told apart by a search.
unsigned resolution(unsigned at_once) noexcept { return std::max(1U, at_once / 4); }

}  // namespace

// The fewest tasks that give as much as any number does; after a change, the number that was held, if fewer only seem better.
AdaptiveLearner::Levels::const_iterator AdaptiveLearner::best() const noexcept {
  double most = 0;
  for (const auto& [at_once, level] : levels_) {
    most = measured(at_once, level) ? std::max(most, level.rate()) : most;
  }
  const auto found = std::find_if(levels_.begin(), levels_.end(), [&](const auto& entry) {
    return measured(entry.first, entry.second) && most > 0 && entry.second.rate() >= most * (1 - tie);
  });
  const auto before = levels_.find(changed_at_);
  const bool flattered = found != levels_.end() && found->first < changed_at_ && !found->second.steady;
  return flattered && before != levels_.end() && measured(before->first, before->second) &&
                 before->second.rate() >= most * (1 - flattery)
             ? before
             : found;
}

// Compares the level that it began with with half of it, and measures it again if it might be better than it looked. Returns true when it
// goes on to one of these.
bool AdaptiveLearner::doubt_first() {
  const unsigned first = first_;
  const auto there = levels_.find(first);
  if (limit_ == first && first > 2 && !full(there->second)) {
    go_to(first / 2);
    return true;
  }
  first_ = 0;
  const auto half = levels_.find(limit_);
  if (limit_ >= first || there == levels_.end() || there->second.rate() <= half->second.rate() * (1 - hindered) ||
      rises(first, there->second.rate(), limit_, half->second.rate())) {
    return false;
  }
  measure(first);
  return true;
}

// Nothing that could be measured would be much better.
bool AdaptiveLearner::full(const Level& level) const noexcept {
  return level.rate() >= device_rate_ * nearly_all && level.rate() <= device_rate_ * too_much;
}

// 0 if the best level is enclosed by levels that are not better, or gives all that the device can, and is known well enough.
unsigned AdaptiveLearner::next_to_measure(Levels::const_iterator found) const noexcept {
  const unsigned at = found->first;
  unsigned lower = 0;
  unsigned upper = 0;
  for (const auto& [at_once, level] : levels_) {
    if (measured(at_once, level)) {
      lower = at_once < at ? at_once : lower;
      upper = at_once > at && upper == 0 ? at_once : upper;
    }
  }
  for (const unsigned known : {at, upper, lower}) {
    if (known != 0 && !known_well(known, levels_.at(known))) {
      return known;
    }
  }
  // A lower level that shows promise: it can always be measured.
  if (const auto below = found == levels_.begin() ? levels_.end() : std::prev(found);
      below != levels_.end() && !measured(below->first, below->second) && below->second.count >= inkling &&
      below->second.rate() >= found->second.rate() * (1 - tie)) {
    return below->first;
  }
  if (curve_.empty() && full(found->second)) {
    return 0;
  }
  const auto if_possible = [&](unsigned next) { return possible(next, found->second.rate()) ? next : 0; };
  const unsigned above = if_possible(next_above(at, upper));
  const unsigned below = if_possible(next_below(at, lower));
  return slower_ && below != 0 ? below : (above != 0 ? above : below);
}

unsigned AdaptiveLearner::next_above(unsigned at, unsigned upper) const noexcept {
  if (upper != 0) {
    return upper - at > resolution(at) ? (at + upper) / 2 : 0;
  }
  if (at >= most_) {
    return 0;
  }
  // The rate of a few tasks is enough for this. A wrong guess tries a level that hinders all of its tasks. But the known level must be a good
  // deal lower, or chance alone makes a device look free.
  const auto here = levels_.find(at);
  auto below = levels_.upper_bound(at * 2 / 3);
  below = below == levels_.begin() ? levels_.end() : std::prev(below);
  const bool known = below != levels_.end() && below->second.count >= inkling;
  const bool free_device = known && rises(at, here->second.rate(), below->first, below->second.rate());
  const unsigned next = std::min(free_device ? (at < 8 ? at * 2 : at * 3 / 2) : at + resolution(at), most_);
  return slower_ && at == held_before_ && (!shape_.contains(next) || !promising(next, at)) ? 0 : next;
}

unsigned AdaptiveLearner::next_below(unsigned at, unsigned lower) const noexcept {
  if (at - lower <= resolution(at)) {
    return 0;
  }
  if (lower == 0 && (at == held_before_ || changed_at_ != 0)) {
    const unsigned next = at - resolution(at);
    return at == held_before_ && !slower_ && !promising(next, at) ? 0 : next;
  }
  return (at + lower) / 2;
}

// Whether a level is worth looking at where another one gives that rate, by the curve that was measured. Between two of its points, as long as
// more at once gives more, each adds no more than the one before; and where the curve begins to fall, it may fall at once. So what is expected
// lies halfway between the lower points prolonged and the straight line to the next one.
bool AdaptiveLearner::possible(unsigned at_once, double rate) const noexcept {
  const device::Level start = device::knee(curve_);
  const auto here = levels_.find(start.at_once);
  const auto above =
      std::find_if(curve_.begin(), curve_.end(), [&](const auto& point) { return point.at_once >= at_once; });
  if (at_once == 0 || here == levels_.end() || above - curve_.begin() < 2) {
    return true;
  }
  double expected = 0;
  if (above != curve_.end() && above->at_once == at_once) {
    expected = above->rate;
  } else {
    const device::Level& below = above[-1];
    const device::Level& before = above[-2];
    const double gain = std::max(0.0, below.rate - before.rate) / (below.at_once - before.at_once);
    expected = below.rate + gain * (at_once - below.at_once);
    if (above != curve_.end()) {
      const double share = (at_once - below.at_once) / static_cast<double>(above->at_once - below.at_once);
      expected = (expected + below.rate + share * (above->rate - below.rate)) / 2;
    }
  }
  // The tasks get the same share of each rate of the curve.
  return expected * here->second.rate() >= start.rate * rate * (1 + worth_looking);
}

bool AdaptiveLearner::promising(unsigned neighbour, unsigned at) const noexcept {
  const auto there = shape_.find(neighbour);
  const auto here = shape_.find(at);
  return there == shape_.end() || here == shape_.end() ||
         there->second.rate() >= here->second.rate() * (1 - unpromising);
}

}  // namespace dovetail::admission
