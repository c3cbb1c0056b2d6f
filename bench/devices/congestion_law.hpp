// How a device that congests shares its bandwidth out.
#pragma once

#include <algorithm>

namespace dovetail::devices {

/// B(n) = peak * min(1, n / saturation) / (1 + penalty * max(0, n - knee)), shared equally by the n that are waiting.
/// The defaults have the shape that the paper on I/O-aware PyCOMPSs (docs/papers.md) shows of node-local SSDs; a hard disk is
/// 1, 1 and a large penalty.
struct CongestionLaw {
  double peak = 400;      ///< Bytes per second, in any unit.
  double saturation = 2;  ///< Writers that it takes to reach the peak.
  double knee = 4;        ///< Writers beyond which they hinder each other.
  double penalty = 0.15;  ///< How much each of these costs.

  double bandwidth(double writers) const noexcept {
    return writers <= 0 ? 0
                        : peak * std::min(1.0, writers / saturation) / (1 + penalty * std::max(0.0, writers - knee));
  }
};

}  // namespace dovetail::devices
