#include "admission/congestion_guard.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace dovetail::admission {
namespace {

constexpr unsigned enough = 2;
// Less than this share of what fewer tasks got done is more than the scatter of a quiet device.
constexpr double congested = 0.75;
// The next number that is tried is this many times one that is known, which is what tasks were among to so great a part, ...
constexpr unsigned growth = 2;
constexpr double filled = 0.75;
// ... if each doubling brought more than this, for which a device that is not busy gives twice as much.
constexpr double gain = 1.25;
constexpr unsigned most_of_all = 1U << 20;
constexpr std::size_t groups_per_doubling = 2;
// What was long ago says little of the device as it is.
constexpr unsigned forget_offers_after = 32;

}  // namespace

bool CongestionGuard::Group::known() const noexcept { return count >= enough; }

// Whether so many get more done than fewer did, as far as that is known.
bool CongestionGuard::gained(std::size_t place) const noexcept {
  for (std::size_t fewer = place; fewer-- > 0;) {
    if (groups_[fewer].known()) {
      const double doublings = static_cast<double>(place - fewer) / groups_per_doubling;
      return groups_[place].rate() > std::pow(gain, doublings) * groups_[fewer].rate();
    }
  }
  return true;
}

bool CongestionGuard::congests(std::size_t place) const noexcept {
  return groups_[place].known() &&
         std::any_of(groups_.begin(), groups_.begin() + static_cast<std::ptrdiff_t>(place), [&](const Group& fewer) {
           return fewer.known() && groups_[place].rate() < congested * fewer.rate();
         });
}

bool CongestionGuard::ended(double work, double seconds, double device_seconds) noexcept {
  if (work <= 0 || seconds <= 0 || device_seconds <= 0) {
    return false;
  }
  const double among = std::max(1.0, seconds / device_seconds);
  const std::size_t place =
      std::min(static_cast<std::size_t>(groups_per_doubling * std::log2(among)), groups_.size() - 1);
  Group& here = groups_[place];
  here.work += work;
  here.device_seconds += device_seconds;
  if (++here.count > forget_offers_after) {
    here = {here.work / 2, here.device_seconds / 2, here.count / 2};
  }
  if (among >= filled * most_ && ++filled_ >= enough) {
    if (!gained(place)) {
      return true;
    }
    most_ = std::min(most_ * growth, most_of_all);
    filled_ = 0;
  }
  return congests(place);
}

}  // namespace dovetail::admission
