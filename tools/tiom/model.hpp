/// @file
/// The time that no runtime can beat: what cores and device would need at least for the work of a run. `docs/tiom.md`
/// derives it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "device/curve.hpp"
#include "settings.hpp"

namespace dovetail::tiom {

/// What a run has to do.
struct Work {
  std::uint64_t operations = 0;    ///< Transfers.
  std::uint64_t computations = 0;  ///< Computations.
};

/// Lower bounds in seconds.
struct Bound {
  double plain = 0;  ///< max(T_compute / cores, T_io(depth)), with all transfers of all series under way at once.
  double seconds =
      0;             ///< The same, but a series that computes transfers nothing, and the first and last do not overlap.
  double depth = 0;  ///< Transfers under way at once, on average, that `seconds` leaves room for.
  std::string limit = {};  ///< What `seconds` comes from: "compute", "device" or "series".
};

/// The device as the model sees it, for blocks of one size in one direction.
struct DeviceSpeed {
  std::function<double(double)> operations_per_second;  ///< By depth; concave, rising, 0 at 0.
  std::function<double(unsigned)> seconds_of_batch;     ///< The time of so many transfers that start together.
  bool in_memory = false;                               ///< A transfer is a copy, and occupies a core.
};

/// What a measured curve says, made concave: a mixture of two depths is a way to use the device, too.
DeviceSpeed speed_of(const device::Curve& curve, const Point& point);

/// The bound of `work`, done as `point` says by `cores` cores.
Bound bound_of(const Point& point, const Work& work, unsigned cores, const DeviceSpeed& speed);

}  // namespace dovetail::tiom
