#include "admission/gradual_rise.hpp"

#include <algorithm>

namespace dovetail::admission {
namespace {

// Of the distance that tasks would have if they were spread evenly.
constexpr double apart = 0.5;
// Of the time that a task takes: an arrival so long ago does not promise another one.
constexpr double lately = 0.5;
// Times that, after which a level is filled, whatever its places were held back for: it is to be measured, and tasks wait. Before the
// first task has ended nothing was raised, and this is no time at all.
constexpr double longest_wait = 2;
// Weight of the latest task in what is typical.
constexpr double newest = 0.25;

}  // namespace

void GradualRise::arrived(double now) noexcept { last_arrival_ = std::max(last_arrival_, now); }

void GradualRise::entered(double now) {
  if (now > last_entered_) {
    entered_before_ = last_entered_;
    last_entered_ = now;
    new_place_now_ = false;
  }
  entered_.insert(std::upper_bound(entered_.begin(), entered_.end(), now), now);
  if (entered_.size() > filled_) {
    filled_ = static_cast<unsigned>(entered_.size());
    new_place_now_ = true;
  }
}

void GradualRise::left(double entered, double now) {
  entered_.erase(std::lower_bound(entered_.begin(), entered_.end(), entered));
  const double seconds = std::max(0.0, now - entered);
  typical_seconds_ = typical_seconds_ == 0 ? seconds : typical_seconds_ + newest * (seconds - typical_seconds_);
}

bool GradualRise::allows(unsigned level, double now) noexcept {
  if (level != level_) {
    level_ = level;
    raised_ = now;
    filled_ = std::min(filled_, level);
  }
  if (entered_.size() < filled_) {
    return true;
  }
  if (filled_ >= level) {
    return false;
  }
  if (now - raised_ >= longest_wait * typical_seconds_) {
    return true;
  }
  const double distance = apart * typical_seconds_ / level;
  const bool arrival = now > last_entered_;
  if (arrival) {
    return now - last_entered_ >= distance;
  }
  // A task has ended and its place is taken again. A new one that enters now begins together with that one: an arrival is better.
  if (now - last_arrival_ < lately * typical_seconds_) {
    return false;
  }
  // If all keep step, nothing that could be waited for would part them.
  const bool in_step = now - entered_.front() < distance;
  return in_step || (!new_place_now_ && now - entered_before_ >= distance);
}

}  // namespace dovetail::admission
