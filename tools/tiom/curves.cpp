#include "curves.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include "text.hpp"

namespace dovetail::tiom {
namespace {

/// Both ends and every second value between them: the curve is smooth enough in between, and time is short.
std::vector<std::uint64_t> blocks_to_measure(const std::set<std::uint64_t>& blocks) {
  std::vector<std::uint64_t> chosen;
  std::size_t index = 0;
  for (const std::uint64_t block : blocks) {
    if (index % 2 == 0 || index + 1 == blocks.size()) {
      chosen.push_back(block);
    }
    ++index;
  }
  return chosen;
}

device::MeasureOptions what_to_measure(const Settings& settings, const std::vector<Point>& points, bool sequential,
                                       double seconds) {
  std::set<std::uint64_t> blocks;
  bool reading = false;
  bool writing = false;
  std::uint64_t deepest = 1;
  for (const Point& point : points) {
    if (is_random(point.pattern) != sequential) {
      blocks.insert(point.block);
      (reads(point.pattern) ? reading : writing) = true;
      deepest = std::max(deepest, point.series * transfers_per_round(point.mode));
    }
  }
  device::MeasureOptions options;
  options.directions.clear();
  if (reading) {
    options.directions.push_back(Direction::read);
  }
  if (writing) {
    options.directions.push_back(Direction::write);
  }
  options.blocks = blocks_to_measure(blocks);
  options.depths.clear();
  constexpr unsigned depth_limit = 256;
  for (unsigned depth = 1; depth <= depth_limit; depth *= 2) {
    options.depths.push_back(depth);
    if (depth >= deepest) {
      break;
    }
  }
  options.sequential = sequential;
  if (!settings.engine.empty()) {
    options.engine = settings.engine;
  }
  options.direct = settings.direct;
  const auto count = static_cast<double>(options.directions.size() * options.blocks.size() * options.depths.size());
  options.total_limit = std::chrono::milliseconds(static_cast<long>(seconds * 1000));
  // A quarter of the time is for the file and for looking at the fastest points again.
  options.point_limit = std::chrono::milliseconds(std::clamp(static_cast<long>(seconds * 750 / count), 20L, 2000L));
  return options;
}

}  // namespace

SavedCurve obtain_curve(const Settings& settings, const std::vector<Point>& points, bool sequential,
                        const std::string& path, double seconds,
                        const std::function<void(const std::string&, double)>& show) {
  if (!path.empty() && std::filesystem::exists(path)) {
    return {Curve::load(path), path};
  }
  device::MeasureOptions options = what_to_measure(settings, points, sequential, seconds);
  options.progress = [&](const device::MeasureProgress& progress) {
    const std::string what =
        progress.block == 0 ? "file" : size_text(progress.block) + " x " + std::to_string(progress.depth);
    show("measuring the device: " + what, static_cast<double>(progress.done) / std::max(progress.total, 1U));
    return true;
  };
  SavedCurve result{device::measure(settings.file, options), path};
  if (!path.empty()) {
    result.curve.save(path);
  }
  return result;
}

}  // namespace dovetail::tiom
