// Measures what a device can do. Blocks the calling thread, uses no tasks, and leaves nothing behind.
#pragma once

#include <string>

#include "device/curve.hpp"
#include "device/measure_options.hpp"

namespace dovetail::device {

/// Measures the device behind a folder, or behind the folder of a file, with a file of its own. That file has no name while it
/// is used, so that it is gone however the process ends. Engines are driven directly, without tasks, so that the curve says what
/// the device can do and not what a program makes of it.
///
/// A device that is throttled gives a burst first. So each point is measured in windows until two in a row agree within 5 % or its
/// time is over. The fastest point of each direction is measured again at the end. `steady` and `notes` tell.
/// @throws std::invalid_argument for options that make no sense; std::system_error when the folder cannot be written, has no room for
///         at least the largest block, or a transfer fails; std::runtime_error for an engine that does not work here, with the reason.
Curve measure(const std::string& path, const MeasureOptions& options = {});

}  // namespace dovetail::device
