// What Dovetail would do on a device, and why.
#pragma once

#include <string>

#include "device/curve.hpp"

namespace dovetail::doctor {

using device::Curve;
using device::Direction;
using device::Facts;

struct Choice {
  std::string engine;
  bool direct = false;
  unsigned depth = 0;  // 0: not known without measuring
  std::string reason;
};

/// @param engine The preferred engine that works here.
/// @param curve Past the page cache where that is possible, and null if nothing was measured.
/// @param cached Through the page cache, at the chosen depths; or null.
Choice choose(const Facts& device, const std::string& engine, Direction direction, const Curve* curve,
              const Curve* cached);

}  // namespace dovetail::doctor
