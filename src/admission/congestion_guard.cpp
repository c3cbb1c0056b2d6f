#include "admission/congestion_guard.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace dovetail::admission {
namespace {

constexpr unsigned enough = 2;
// Less than this share of what fewer tasks got done is more than the scatter of a quiet device.
constexpr double congested = 0.75;
// The next number that is tried is at most this many times one that is known, which is what tasks were among to so great a part.
constexpr unsigned growth = 2;
constexpr double filled = 0.75;
constexpr unsigned least_limit = 4;
// What was long ago says little of the device as it is.
constexpr unsigned forget_offers_after = 32;

}  // namespace

bool CongestionGuard::Group::known() const noexcept { return count >= enough; }

// The first limit comes with the first task: while that ran, others may have come in that will take long to end.
void CongestionGuard::grow(double among) noexcept {
  if (most_ == any_number) {
    most_ = std::max(least_limit, static_cast<unsigned>(std::ceil(growth * among)));
    filled_ = 0;
  } else if (among >= filled * most_ && ++filled_ >= enough) {
    most_ = most_ < any_number / growth ? most_ * growth : any_number;
    filled_ = 0;
  }
}

bool CongestionGuard::ended(double work, double seconds, double device_seconds) noexcept {
  if (work <= 0 || seconds <= 0 || device_seconds <= 0) {
    return false;
  }
  const double half_octaves = 2 * std::log2(std::max(1.0, seconds / device_seconds));
  const std::size_t place = std::min(static_cast<std::size_t>(half_octaves), groups_.size() - 1);
  Group& here = groups_[place];
  here.work += work;
  here.device_seconds += device_seconds;
  if (++here.count > forget_offers_after) {
    here = {here.work / 2, here.device_seconds / 2, here.count / 2};
  }
  grow(seconds / device_seconds);
  return here.known() &&
         std::any_of(groups_.begin(), groups_.begin() + static_cast<std::ptrdiff_t>(place),
                     [&](const Group& fewer) { return fewer.known() && here.rate() < congested * fewer.rate(); });
}

}  // namespace dovetail::admission
