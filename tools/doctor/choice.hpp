// What Dovetail would do on a device, and why.
#pragma once

#include <optional>
#include <string>

#include "dovetail/device.hpp"

namespace dovetail::doctor {

struct Choice {
  std::string engine;
  bool direct = false;
  unsigned depth = 0;  // 0: not known without measuring
  std::string reason;
};

/// The least depth with nearly all of the bandwidth, of the largest block that was measured. Nothing without such points.
std::optional<CurvePoint> knee(const DeviceCurve& curve, Direction direction);

/// @param engine The preferred engine that works here.
/// @param curve Past the page cache where that is possible, and null if nothing was measured.
/// @param cached Through the page cache, at the chosen depths; or null.
Choice choose(const Device& device, const std::string& engine, Direction direction, const DeviceCurve* curve,
              const DeviceCurve* cached);

}  // namespace dovetail::doctor
