#include "choice.hpp"

#include <algorithm>
#include <cstdio>

namespace dovetail::doctor {
namespace {

// Direct transfers leave the page cache to others and copy nothing: they may be a little slower.
constexpr double direct_may_lose = 0.90;

std::string rate(double bytes_per_second) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f MB/s", bytes_per_second / 1e6);
  return text;
}

Choice choose_unmeasured(const Facts& device, const std::string& engine) {
  if (device.in_memory) {
    return {engine, false, 0, "files lie in memory: transfers are copies, done in place or by threads"};
  }
  if (!device.direct) {
    return {engine, false, 0, "the file system has no direct transfers; the depth is found while running"};
  }
  return {engine, true, 0, "direct transfers work; the depth is found while running, or by measuring"};
}

}  // namespace

Choice choose(const Facts& device, const std::string& engine, Direction direction, const Curve* curve,
              const Curve* cached) {
  const std::optional<device::CurvePoint> best = curve != nullptr ? curve->knee(direction) : std::nullopt;
  if (!best) {
    return choose_unmeasured(device, engine);
  }
  Choice choice{best->engine, curve->direct, best->depth, {}};
  const bool deepest = std::none_of(curve->points.begin(), curve->points.end(), [&](const device::CurvePoint& point) {
    return point.direction == direction && point.block == best->block && point.depth > best->depth;
  });
  choice.reason = rate(best->bytes_per_second) + " at depth " + std::to_string(best->depth) +
                  (deepest ? ", the deepest that was measured"
                           : "; deeper queues add less than 5 % and make every request wait longer");
  if (!curve->direct) {
    choice.reason += "; the file system has no direct transfers";
  } else if (cached != nullptr && cached->has(direction)) {
    const double through_cache = cached->bytes_per_second(direction, best->block, best->depth);
    choice.direct = best->bytes_per_second >= direct_may_lose * through_cache && !device.in_memory;
    choice.reason += std::string("; ") + (direction == Direction::write ? "buffered with fdatasync: " : "buffered: ") +
                     rate(through_cache);
  }
  if (device.in_memory) {
    choice.direct = false;
    choice.reason += "; files lie in memory, so bypassing the page cache bypasses nothing";
  }
  return choice;
}

}  // namespace dovetail::doctor
