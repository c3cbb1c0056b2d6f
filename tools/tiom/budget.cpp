#include "budget.hpp"

#include <algorithm>
#include <cmath>

#include "model.hpp"
#include "point.hpp"

namespace dovetail::tiom {
namespace {

/// What a run costs beside its work: a runtime is made, 64 MiB of buffers are taken and filled, the file is looked at.
constexpr double seconds_around_run = 0.04;
constexpr double most_operations = 1e6;

double seconds_per_operation(const Settings& settings, const Point& point, const Curves& curves) {
  const double cores = std::min<double>(cores_for(settings.workers), static_cast<double>(point.series));
  const double computations =
      static_cast<double>(computations_per_round(point.mode)) / static_cast<double>(transfers_per_round(point.mode));
  const double computing = computations * point.compute_ms / 1000 / cores;
  const SavedCurve* const curve = curves.of(point);
  if (curve == nullptr ||
      !curve->curve.has(reads(point.pattern) ? device::Direction::read : device::Direction::write)) {
    return computing;
  }
  return computing + 1 / speed_of(curve->curve, point).operations_per_second(cores);
}

}  // namespace

double expected_seconds(const Settings& settings, const Point& point, const Curves& curves) {
  const auto blocks = settings.size / point.block;
  const auto operations = static_cast<double>(point.operations == 0 ? blocks : point.operations);
  return seconds_around_run +
         std::min(operations * seconds_per_operation(settings, point, curves), settings.time_limit);
}

double share_budget(const Settings& settings, const Curves& curves, double seconds, std::vector<Point>& points) {
  std::vector<double> per_operation;
  per_operation.reserve(points.size());
  for (const Point& point : points) {
    per_operation.push_back(seconds_per_operation(settings, point, curves));
  }
  const auto runs = static_cast<double>(settings.variants.size()) * settings.rounds;
  const auto operations_in = [&](std::size_t index, double share, unsigned rounds) {
    const Point& point = points[index];
    const auto least = static_cast<double>(rounds * point.series * transfers_per_round(point.mode));
    return std::clamp(std::floor(share / per_operation[index]), least, std::max(most_operations, least));
  };
  const auto total = [&](double share, unsigned rounds) {
    double sum = 0;
    for (std::size_t index = 0; index < points.size(); ++index) {
      sum += runs * (seconds_around_run + operations_in(index, share, rounds) * per_operation[index]);
    }
    return sum;
  };
  unsigned rounds = 4;
  while (rounds > 1 && total(0, rounds) > seconds) {
    --rounds;
  }
  double low = 0;
  double high = seconds;
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    (total(middle, rounds) > seconds ? high : low) = middle;
  }
  for (std::size_t index = 0; index < points.size(); ++index) {
    points[index].operations = static_cast<std::uint64_t>(operations_in(index, low, rounds));
  }
  return total(low, rounds);
}

}  // namespace dovetail::tiom
