#include "admission/patience.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace dovetail::admission {
namespace {

constexpr std::size_t most_looked_at = 8;
// Seconds. What needs the device, or a core, is seen to use it sooner than this, ...
constexpr double to_do_anything = 0.02;
// ... and ends sooner than this, or than this many times what one took lately; what the longest took is forgotten with those that end.
constexpr double to_end = 1;
constexpr double times_the_longest = 4;
constexpr double forgetting = 0.9;
// The device is in use, so that an end will come.
constexpr double to_look_again = 0.1;

}  // namespace

void Patience::entered(const Request& request) {
  inside_.push_back(&request);
  begin_anew();
}

void Patience::left(const Request& request, double since, double now) noexcept {
  const auto place = std::find(inside_.begin(), inside_.end(), &request);
  *place = inside_.back();
  inside_.pop_back();
  // How long a task took that waited until somebody was let in says nothing of tasks.
  if (since > last_over_) {
    longest_ = std::max(now - since, forgetting * longest_);
  }
  extra_until_ = 0;
  times_ = 0;
  begin_anew();
}

bool Patience::over(double now, const Look& look) {
  if (inside_.size() < extra_until_) {
    return true;
  }
  // Twice as long each time, or those who take their time would not be kept out for long.
  const double longer = std::ldexp(1.0, static_cast<int>(times_));
  if (kept_out_since_ == never) {
    kept_out_since_ = now;
    quiet_since_ = now;
    ask_at_ = now + to_do_anything * longer;
  }
  if (now < ask_at_) {
    return false;  // where tasks come and go, nobody is looked at
  }
  std::array<std::size_t, 4> count{};
  const std::size_t seen = std::min(inside_.size(), most_looked_at);
  for (std::size_t i = 0; i < seen; ++i) {
    ++count[static_cast<std::size_t>(look(*inside_[i]))];
  }
  const auto number = [&](Activity activity) { return count[static_cast<std::size_t>(activity)]; };
  if (number(Activity::uses_device) > 0) {
    kept_out_since_ = now;
    quiet_since_ = never;
    ask_at_ = now + to_look_again;
    return false;
  }
  const bool quiet = number(Activity::computes) == 0 && 2 * number(Activity::has_transferred) < seen;
  quiet_since_ = quiet ? std::min(quiet_since_, now) : never;
  const double at = std::min(kept_out_since_ + std::max(to_end, times_the_longest * longest_) * longer,
                             quiet_since_ + to_do_anything * longer);
  if (now < at) {
    ask_at_ = std::min(at, now + to_do_anything * longer);
    return false;
  }
  ++times_;
  extra_until_ = 2 * inside_.size();
  last_over_ = now;
  return true;
}

}  // namespace dovetail::admission
