#include "device/curve.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace dovetail::device {
namespace {

// A value over a logarithm.
struct Knot {
  double place;
  double value;
};

// Straight between knots that are sorted by place, level outside.
double interpolate(const std::vector<Knot>& knots, double place) {
  const auto after = std::find_if(knots.begin(), knots.end(), [&](const Knot& knot) { return knot.place >= place; });
  if (after == knots.begin()) {
    return after->value;
  }
  if (after == knots.end()) {
    return knots.back().value;
  }
  const Knot& from = after[-1];
  const double share = (place - from.place) / (after->place - from.place);
  return from.value + share * (after->value - from.value);
}

void sort_by_place(std::vector<Knot>& knots) {
  std::sort(knots.begin(), knots.end(), [](const Knot& one, const Knot& other) { return one.place < other.place; });
}

// Of the bandwidth: a deeper queue that adds less makes every request wait longer for nothing.
constexpr double nearly_all = 0.95;

}  // namespace

bool Curve::has(Direction direction) const noexcept {
  return std::any_of(points.begin(), points.end(), [&](const CurvePoint& point) {
    return point.direction == direction && point.bytes_per_second > 0;
  });
}

double Curve::bytes_per_second(Direction direction, std::uint64_t block, unsigned depth) const {
  if (block == 0 || depth == 0) {
    throw std::invalid_argument("Curve: block and depth must be greater than 0");
  }
  if (!has(direction)) {
    throw std::out_of_range(std::string("Curve: ") + (direction == Direction::read ? "reading" : "writing") +
                            " was not measured");
  }
  std::vector<std::uint64_t> blocks;
  for (const CurvePoint& point : points) {
    if (point.direction == direction && point.bytes_per_second > 0) {
      blocks.push_back(point.block);
    }
  }
  std::sort(blocks.begin(), blocks.end());
  blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());

  // First along the depth of each block, then across the blocks.
  std::vector<Knot> across;
  for (const std::uint64_t measured : blocks) {
    std::vector<Knot> along;
    for (const CurvePoint& point : points) {
      if (point.direction == direction && point.block == measured && point.bytes_per_second > 0) {
        along.push_back({std::log(static_cast<double>(point.depth)), std::log(point.bytes_per_second)});
      }
    }
    sort_by_place(along);
    across.push_back(
        {std::log(static_cast<double>(measured)), interpolate(along, std::log(static_cast<double>(depth)))});
  }
  const double rate = std::exp(interpolate(across, std::log(static_cast<double>(block))));
  // A request shorter than all that were measured takes as long as the shortest of them.
  return block < blocks.front() ? rate * static_cast<double>(block) / static_cast<double>(blocks.front()) : rate;
}

double Curve::seconds(Direction direction, std::uint64_t block, unsigned depth, std::uint64_t bytes) const {
  if (bytes == 0) {
    return 0;
  }
  const std::uint64_t whole = std::min(block, bytes);
  const std::uint64_t requests = whole == 0 ? 0 : (bytes + whole - 1) / whole;
  const auto at_once = static_cast<unsigned>(std::min<std::uint64_t>(depth, requests));
  return static_cast<double>(bytes) / bytes_per_second(direction, whole, whole == 0 ? depth : at_once);
}

std::optional<CurvePoint> Curve::knee(Direction direction) const {
  std::uint64_t block = 0;
  for (const CurvePoint& point : points) {
    block = point.direction == direction ? std::max(block, point.block) : block;
  }
  double most = 0;
  for (const CurvePoint& point : points) {
    most = point.direction == direction && point.block == block ? std::max(most, point.bytes_per_second) : most;
  }
  std::optional<CurvePoint> least;
  for (const CurvePoint& point : points) {
    if (point.direction == direction && point.block == block && point.bytes_per_second >= nearly_all * most &&
        (!least || point.depth < least->depth)) {
      least = point;
    }
  }
  return least;
}

}  // namespace dovetail::device
