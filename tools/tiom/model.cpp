#include "model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

namespace dovetail::tiom {
namespace {

struct Corner {
  double depth;
  double rate;
};

/// The least concave function above the points, which come in rising order of depth.
std::vector<Corner> concave(const std::vector<Corner>& points) {
  std::vector<Corner> hull;
  for (const Corner& point : points) {
    while (hull.size() >= 2) {
      const Corner& a = hull[hull.size() - 2];
      const Corner& b = hull.back();
      if ((b.rate - a.rate) * (point.depth - b.depth) > (point.rate - b.rate) * (b.depth - a.depth)) {
        break;
      }
      hull.pop_back();
    }
    hull.push_back(point);
  }
  return hull;
}

double rate_at(const std::vector<Corner>& hull, double depth) {
  for (std::size_t i = 1; i < hull.size(); ++i) {
    if (depth <= hull[i].depth) {
      const double part = (depth - hull[i - 1].depth) / (hull[i].depth - hull[i - 1].depth);
      return hull[i - 1].rate + std::max(part, 0.0) * (hull[i].rate - hull[i - 1].rate);
    }
  }
  return hull.back().rate;
}

/// Transfers per second that the control groups of this process allow. A measurement that was shorter than the burst which they let through shows
/// a higher rate, which no long run keeps up.
double allowed_rate(const device::Throttle& throttle, device::Direction direction, double block) {
  const bool reading = direction == device::Direction::read;
  const std::uint64_t bytes = reading ? throttle.read_bytes_per_second : throttle.write_bytes_per_second;
  const std::uint64_t operations = reading ? throttle.read_operations_per_second : throttle.write_operations_per_second;
  double rate = std::numeric_limits<double>::infinity();
  if (bytes > 0) {
    rate = static_cast<double>(bytes) / block;
  }
  return operations > 0 ? std::min(rate, static_cast<double>(operations)) : rate;
}

double ceil_divide(std::uint64_t value, double by) { return std::ceil(static_cast<double>(value) / by); }

/// Seconds that the device needs at least for `operations`, while the series together compute for `busy` seconds. In T seconds, busy / T series
/// compute on average, and only the others can have transfers under way.
double device_seconds(double operations, double busy, double series, double width, const DeviceSpeed& speed) {
  const auto done_in = [&](double seconds) {
    return seconds * speed.operations_per_second(width * std::max(series - busy / seconds, 0.0));
  };
  double low = busy / series;
  double high = std::max(low, 1e-6);
  while (done_in(high) < operations) {
    low = high;
    high *= 2;
  }
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    (done_in(middle) < operations ? low : high) = middle;
  }
  return high;
}

}  // namespace

DeviceSpeed speed_of(const device::Curve& curve, const Point& point) {
  const device::Direction direction = reads(point.pattern) ? device::Direction::read : device::Direction::write;
  constexpr std::uint64_t deepest = 4096;
  const auto most = static_cast<unsigned>(std::min(point.series * transfers_per_round(point.mode), deepest));
  std::vector<Corner> points = {{0, 0}};
  const auto block = static_cast<double>(point.block);
  const double allowed = allowed_rate(curve.device.throttle, direction, block);
  for (unsigned depth = 1; depth <= most; depth += std::max(1U, depth / 16)) {
    const double rate = std::min(curve.bytes_per_second(direction, point.block, depth) / block, allowed);
    points.push_back({static_cast<double>(depth), std::max(rate, points.back().rate)});
  }
  DeviceSpeed speed;
  speed.in_memory = curve.device.in_memory;
  speed.operations_per_second = [hull = concave(points)](double depth) { return rate_at(hull, depth); };
  // From the same concave curve, so that a batch never takes longer than the bound over all transfers allows.
  speed.seconds_of_batch = [rate = speed.operations_per_second](unsigned count) {
    return count == 0 ? 0 : static_cast<double>(count) / rate(static_cast<double>(count));
  };
  return speed;
}

Bound bound_of(const Point& point, const Work& work, unsigned cores, const DeviceSpeed& speed) {
  const auto width = static_cast<double>(transfers_per_round(point.mode));
  const auto series = static_cast<double>(point.series);
  const auto operations = static_cast<double>(work.operations);
  const double compute = point.compute_ms / 1000;
  const double all_cores = cores;
  const auto forks = static_cast<double>(computations_per_round(point.mode));
  const double phase = std::ceil(forks / all_cores) * compute;
  const double one = speed.seconds_of_batch(1);
  Bound bound;
  if (work.operations == 0) {
    return bound;
  }
  if (speed.in_memory) {
    bound.plain = bound.seconds = (static_cast<double>(work.computations) * compute + operations * one) / all_cores;
    bound.limit = "compute";
    bound.depth = std::min(all_cores, series * width);
    return bound;
  }

  bound.plain = std::max(static_cast<double>(work.computations) * compute / all_cores,
                         operations / speed.operations_per_second(std::min(series * width, operations)));

  const std::uint64_t rounds =
      (work.operations + transfers_per_round(point.mode) - 1) / transfers_per_round(point.mode);
  const auto last = static_cast<unsigned>(work.operations - (rounds - 1) * transfers_per_round(point.mode));
  const double by_compute = ceil_divide(work.computations, all_cores) * compute + one;

  // Before the first computation has ended nothing is transferred; meanwhile at most `cores` computations proceed.
  const double busy = static_cast<double>(work.computations) * compute / std::min(forks, all_cores);
  const double early = std::min(std::min(series, all_cores) * phase, busy);
  const double by_device = phase + device_seconds(operations, busy - early, series, width, speed);

  const double turns = ceil_divide(rounds, series);
  const double by_series =
      turns * phase + (turns - 1) * speed.seconds_of_batch(static_cast<unsigned>(width)) + speed.seconds_of_batch(last);

  bound.seconds = std::max({by_compute, by_device, by_series, bound.plain});
  // A chain that nothing can shorten also limits what the device gets: the chain is the reason then.
  const double nearly = bound.seconds * (1 - 1e-9);
  bound.limit = by_series >= nearly ? "series" : by_compute >= nearly ? "compute" : "device";
  bound.depth = std::min(width * std::max(series - busy / bound.seconds, 0.0), operations);
  return bound;
}

}  // namespace dovetail::tiom
