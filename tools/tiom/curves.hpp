/// @file
/// The curves of the device that the model needs: measured, or read from a file.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "device/measure.hpp"
#include "options.hpp"

namespace dovetail::tiom {

using device::Curve;
using device::Direction;

/// A curve and where it was saved; an empty path if nowhere.
struct SavedCurve {
  Curve curve;
  std::string path;
};

/// One curve for random and one for sequential transfers; only those that the points need.
struct Curves {
  std::optional<SavedCurve> random;
  std::optional<SavedCurve> sequential;
  /// The one for a point; null if there is none.
  const SavedCurve* of(const Point& point) const noexcept {
    const auto& curve = is_random(point.pattern) ? random : sequential;
    return curve ? &*curve : nullptr;
  }
};

/// Reads `path` if that file exists; else measures the device for `points` in about `seconds`, and writes `path` unless
/// it is empty. `show` gets a line and how much is done, from 0 to 1.
/// @throws std::system_error, std::runtime_error, std::invalid_argument from reading or measuring.
SavedCurve obtain_curve(const Settings& settings, const std::vector<Point>& points, bool sequential,
                        const std::string& path, double seconds,
                        const std::function<void(const std::string&, double)>& show);

}  // namespace dovetail::tiom
