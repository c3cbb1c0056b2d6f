#include "admission/adaptive_learner.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace dovetail::admission {
namespace {

// What `auto` begins with at least; half of it is measured next, unless the device is full. Beginning with half leaves the device idle
// while the first tasks prepare their data, which 64 tasks do not make up for; a device that is best with one costs four slow tasks.
constexpr unsigned first_level = 4;
// A task shows the scatter, or a change, if it had this share of its device's time at one level.
constexpr double pure = 0.85;
// Numbers of tasks that differ from the present level by less than a twelfth of it count for it.
constexpr unsigned closeness = 12;
// The device has changed if a block of samples at the held level differs by this, and by more than chance explains. Cores that become free
// change the rate by less.
constexpr double changed = 0.25;
// A level that is worse by this, and by more than chance explains, needs no more samples.
constexpr double clearly_worse = 0.15;
constexpr double chance = 3;
// Standard error that the mean of a level may have, and how many samples that is worth at most.
constexpr double precision = 0.08;
constexpr double most_samples = 24;
// Share of the device's time that looking around may cost, and how many tasks lie between two looks at least.
constexpr double price_of_looking = 0.01;
constexpr unsigned between_looks = 32;
// The cost of a change of level, in tasks that the device could have served meanwhile. A change puts tasks in step until they part again. A
// look at a level that is hardly worse lost so many on a device whose tasks also compute.
constexpr double price_of_change = 1;
// What a level is assumed to lose that was never measured.
constexpr double assumed_loss = 0.25;
constexpr unsigned forget_after = 64;
// A level is given up if it is unknown after so many tasks more than twice those it needs: too few come at a time.
constexpr unsigned most_tasks_unmeasured = 8;
// The work of a task of unknown size is estimated only if it was at known levels for this share of its device's time.
constexpr double mostly = 0.6;
// Parts of tasks do not always add up to whole ones.
constexpr double slack_of_counts = 1e-6;
// Of so many tasks the work is put down to levels anew with each that ends, in so many turns.
constexpr std::size_t most_recent = 24;
constexpr unsigned turns = 8;

// The first task of two had no company at its beginning.
double least_samples(unsigned at_once) noexcept {
  return at_once <= 2 ? 1.5 : std::min((at_once + 1) / 2, forget_after / 2);
}
double samples_to_be_precise(double variance) noexcept {
  return std::min(most_samples, std::ceil(variance / (precision * precision)));
}

}  // namespace

AdaptiveLearner::AdaptiveLearner(unsigned most)
    : most_(std::max(1U, most)), limit_(std::min(first_level, most_)), first_(limit_) {}

void AdaptiveLearner::set_most(unsigned most) noexcept {
  most_ = std::max(1U, most);
  limit_ = std::min(limit_, most_);
}

void AdaptiveLearner::begin_with(unsigned at_once) noexcept {
  if (fresh()) {
    limit_ = first_ = std::clamp(at_once, 1U, most_);
  }
}

void AdaptiveLearner::begin_near(std::span<const device::Level> curve) {
  const device::Level start = device::knee(curve);
  if (fresh() && start.at_once != 0) {
    limit_ = held_before_ = changed_at_ = std::clamp(start.at_once, 1U, most_);
    first_ = 0;
    curve_ = {device::Level{}};
    curve_.insert(curve_.end(), curve.begin(), curve.end());
  }
}

double AdaptiveLearner::rate() const noexcept {
  if (!searching_ && reference_ > 0) {
    return reference_;
  }
  const auto found = best();
  return found == levels_.end() ? 0 : found->second.rate();
}

bool AdaptiveLearner::measured(unsigned at_once, const Level& level) const noexcept {
  return level.count >= least_samples(at_once) - slack_of_counts;
}

// What is known of a level, or of the nearest one; 0: nothing is known of any.
double AdaptiveLearner::guess(unsigned at_once) const noexcept {
  const auto above = levels_.lower_bound(at_once);
  if (above != levels_.end() && above->first == at_once) {
    return above->second.rate();
  }
  if (above == levels_.begin()) {
    return above == levels_.end() ? 0 : above->second.rate();
  }
  const auto below = std::prev(above);
  const bool nearer_above = above != levels_.end() && above->first - at_once < at_once - below->first;
  return nearer_above ? above->second.rate() : below->second.rate();
}

double AdaptiveLearner::expected_work(std::span<const double> seconds_among) const noexcept {
  double work = 0;
  double all = 0;
  double known = 0;
  for (std::size_t count = 1; count < seconds_among.size(); ++count) {
    const double time = seconds_among[count] / static_cast<double>(count);
    const auto level = levels_.find(static_cast<unsigned>(count));
    work += time * guess(static_cast<unsigned>(count));
    all += time;
    known += level != levels_.end() && level->second.count >= 1 ? time : 0;
  }
  return known >= mostly * all ? work : 0;
}

// Tasks of equal size on a quiet device need few; where they differ, or the device does, their mean must be precise enough.
double AdaptiveLearner::samples_needed(unsigned at_once) const noexcept {
  return std::max<double>(least_samples(at_once), samples_to_be_precise(scatter_.variance())) - slack_of_counts;
}

// Well enough to decide: precisely, or that it is worse than another by more than chance explains.
bool AdaptiveLearner::known_well(unsigned at_once, const Level& level) const noexcept {
  if (level.count >= samples_needed(at_once)) {
    return true;
  }
  const auto found = best();
  if (!measured(at_once, level) || found == levels_.end()) {
    return false;
  }
  const double variance = scatter_.variance();
  const double by_chance = std::sqrt(variance / level.count + variance / found->second.count);
  return level.rate() < found->second.rate() * (1 - clearly_worse - 2 * by_chance);
}

void AdaptiveLearner::note_scatter(const Level& level, double device_seconds_per_work) noexcept {
  if (level.count < 1) {
    return;
  }
  const double off = std::min(2.0, device_seconds_per_work * level.rate() - 1);
  scatter_.sum += off * off * level.count / (level.count + 1);
  if (++scatter_.weight > forget_after) {
    scatter_.sum /= 2;
    scatter_.weight /= 2;
  }
}

void AdaptiveLearner::Level::add(const Level& more) noexcept {
  work += more.work;
  device_seconds += more.device_seconds;
  count += more.count;
  if (count > forget_after) {
    *this = {work / 2, device_seconds / 2, count / 2, steady};
  }
}

AdaptiveLearner::Ended AdaptiveLearner::parts_of(const Sample& sample) const {
  Ended task;
  task.work = sample.work;
  double here = 0;
  for (std::size_t count = 1; count < sample.seconds_among.size(); ++count) {
    if (const double there = sample.seconds_among[count]; there > 0) {
      const auto number = static_cast<unsigned>(count);
      const bool close = (number > limit_ ? number - limit_ : limit_ - number) <= limit_ / closeness;
      if (close && here > 0) {
        task.parts.back().second += there / number;
      } else {
        task.parts.emplace_back(close ? limit_ : number, there / number);
      }
      task.device_seconds += there / number;
      here += close ? there / number : 0;
    }
  }
  task.here = task.device_seconds > 0 ? here / task.device_seconds : 0;
  return task;
}

void AdaptiveLearner::learn(const Ended& task) {
  for (const auto& [at_once, time] : task.parts) {
    if (const auto known = levels_.find(at_once); known != levels_.end() && time >= pure * task.device_seconds) {
      note_scatter(known->second, task.device_seconds / task.work);
    }
  }
  if (task.parts.size() > 1) {
    recent_.push_back(task);
  } else {
    kept_levels_[task.parts.front().first].add({task.work, task.device_seconds, 1});
    levels_[task.parts.front().first].add({task.work, task.device_seconds, 1});
  }
  for (unsigned turn = 0; turn < (searching_ ? turns : 1) && !recent_.empty(); ++turn) {
    Levels next = kept_levels_;
    for (const Ended& known : recent_) {
      put_down(known, next);
    }
    levels_ = std::move(next);
  }
  if (recent_.size() > most_recent) {
    put_down(recent_.front(), kept_levels_);
    recent_.pop_front();
  }
}

// A task that had the device for time d(n) while it was among n did the sum of d(n) X(n). Its work is put down to levels in these proportions;
// with the X(n) that follow all tasks are explained better than before (it is the expectation-maximisation of Poisson rates).
void AdaptiveLearner::put_down(const Ended& task, Levels& levels) const {
  double expected = 0;
  for (const auto& [at_once, time] : task.parts) {
    expected += time * guess(at_once);
  }
  for (const auto& [at_once, time] : task.parts) {
    const double share = expected > 0 ? time * guess(at_once) / expected : time / task.device_seconds;
    levels[at_once].add({task.work * share, time, time / task.device_seconds});
  }
}

// The rates of the levels stay as they are now.
void AdaptiveLearner::keep_levels() {
  kept_levels_ = levels_;
  recent_.clear();
}

bool AdaptiveLearner::ended(const Sample& sample) {
  ++since_;
  device_rate_ = sample.device_rate;
  const Ended task = parts_of(sample);
  if (task.device_seconds <= 0 || task.work <= 0) {
    return searching_ && give_up();
  }
  learn(task);
  if (searching_) {
    const auto level = levels_.find(limit_);
    const bool enough = level != levels_.end() && known_well(limit_, level->second);
    return enough ? decide(sample.present) : give_up();
  }
  if (task.here >= pure && held(task, sample.present)) {
    return true;
  }
  return !searching_ && postponed_ != 0 && sample.present >= postponed_ && decide(sample.present);
}

// A level that the tasks do not fill would meet the next burst unmeasured: the best one that is known is better.
bool AdaptiveLearner::give_up() {
  const auto found = best();
  if (found == levels_.end() || found->first == limit_ ||
      since_ < under_way_ + most_tasks_unmeasured + 2 * samples_needed(limit_)) {
    return false;
  }
  postponed_ = limit_ > found->first ? limit_ : 0;
  hold(found->first);
  return true;
}

void AdaptiveLearner::go_to(unsigned at_once) noexcept {
  if (at_once != limit_) {
    since_ = 0;
    under_way_ = limit_;
    limit_ = at_once;
  }
}

void AdaptiveLearner::measure(unsigned at_once) {
  searching_ = true;
  go_to(at_once);
  postponed_ = 0;
  keep_levels();
  kept_levels_.erase(at_once);
  levels_.erase(at_once);
}

// Goes on searching, or holds the best level and returns true.
bool AdaptiveLearner::decide(unsigned present) {
  if (first_ != 0 && doubt_first()) {
    return false;
  }
  const auto found = best();
  postponed_ = 0;
  if (const unsigned next = next_to_measure(found); next > found->first && next > present) {
    postponed_ = next;
  } else if (next != 0) {
    searching_ = true;
    go_to(next);  // what is known of it counts
    return false;
  }
  const unsigned began_at = held_before_;
  hold(found->first);
  held_before_ = postponed_ != 0 ? began_at : held_before_;  // the search goes on
  return true;
}

void AdaptiveLearner::hold(unsigned at_once) {
  searching_ = false;
  go_to(at_once);
  held_before_ = at_once;
  first_ = 0;
  slower_ = false;
  reference_ = levels_[at_once].rate();
  begin_block();
  held_ = 0;
}

void AdaptiveLearner::begin_block() noexcept {
  block_ = {};
  scatter_before_block_ = scatter_;
}

// Returns true when it holds another level now.
bool AdaptiveLearner::held(const Ended& task, unsigned present) {
  block_.add({task.work, task.device_seconds, 1});
  ++held_;
  credit_ += price_of_looking * task.device_seconds;
  if (block_.count >= std::max<double>(std::clamp(limit_, 4U, forget_after / 2),
                                       samples_to_be_precise(scatter_before_block_.variance()) - slack_of_counts)) {
    if (end_block() && best()->first != limit_) {
      return decide(present);
    }
  }
  if (!searching_ && held_ >= between_looks) {
    look_around(present);
  }
  return false;
}

// Returns true if what is known of the level was corrected.
bool AdaptiveLearner::end_block() {
  const double rate = block_.rate();
  const double by_chance = chance * std::sqrt(scatter_before_block_.variance() / block_.count);
  const double ratio = reference_ > 0 ? rate / reference_ : 1;
  if (std::abs(ratio - 1) > std::max(changed, by_chance)) {
    // The device is another one now: what was measured of the old one does not count. If it has become slower, it is more likely
    // that there are too many tasks now than too few.
    scatter_ = scatter_before_block_;
    for (auto& entry : levels_) {
      entry.second.work *= ratio;
    }
    shape_ = std::exchange(levels_, {});
    curve_.clear();
    credit_ = 0;
    slower_ = ratio < 1;
    changed_at_ = limit_;
    measure(limit_);
    return false;
  }
  keep_levels();
  if (Level& here = kept_levels_[limit_]; !here.steady) {
    // It was chosen because its few samples flattered it, and some of them were of tasks that began at another level.
    here = levels_[limit_] = block_;
    here.steady = levels_[limit_].steady = true;
    reference_ = rate;
    begin_block();
    return measured(limit_, here);
  }
  changed_at_ = 0;
  // A slow drift takes the levels along that are not measured meanwhile.
  const double drift = 1 + (ratio - 1) / 4;
  reference_ = reference_ > 0 ? reference_ * drift : rate;
  for (auto& [at_once, level] : levels_) {
    if (at_once != limit_) {
      level.work *= drift;
    }
  }
  kept_levels_ = levels_;
  begin_block();
  return false;
}

// Measures a neighbour again when the device's time that this is expected to cost has been saved up. One side after the other: the
// cheaper one would leave nothing for the other.
void AdaptiveLearner::look_around(unsigned present) {
  const unsigned step = std::max(1U, limit_ / 8);
  const bool above = limit_ + step <= std::min(most_, present);
  const bool below = limit_ > step;
  if (!above && !below) {
    return;
  }
  const bool up = above && (upwards_ || !below);
  const unsigned neighbour = up ? limit_ + step : limit_ - step;
  const auto known = levels_.find(neighbour);
  const double rate =
      known != levels_.end() && known->second.rate() > 0 ? known->second.rate() : reference_ * (1 - assumed_loss);
  const auto here = levels_.find(limit_);
  const double device_seconds = here->second.device_seconds / here->second.count;
  // The tasks that are counted, and those under way when the level changes back; and what the change itself costs.
  const double tasks = samples_needed(neighbour) + neighbour;
  const double cost = (tasks * std::max(0.0, reference_ / rate - 1) + price_of_change) * device_seconds;
  if (cost <= credit_) {
    credit_ -= cost;
    upwards_ = !up;
    measure(neighbour);
  }
}

void AdaptiveLearner::recall(const device::Level& level) {
  if (level.at_once == 0) {
    return;
  }
  levels_.clear();
  kept_levels_.clear();
  recent_.clear();
  searching_ = false;
  first_ = 0;
  limit_ = held_before_ = std::min(level.at_once, most_);
  reference_ = level.rate;
  begin_block();
}

}  // namespace dovetail::admission
