/// @file
/// What was learned of tasks that are admitted to a device. The constraint itself is in dovetail/storage_bandwidth.hpp and is said in
/// `TaskDescription::storage_bw`; the devices are in dovetail/device.hpp. See docs/admission.md.
#pragma once

#include <string>

#include "dovetail/device.hpp"
#include "dovetail/storage_bandwidth.hpp"

namespace dovetail {

/// What admission did so far in this process, as JSON text, for reports:
///
///     {"devices": [{"name", "names", "paths", "read_mb_per_second", "write_mb_per_second", "shared", "configured",
///                   "most_at_once", "running", "waiting", "most_running", "tasks", "bytes", "busy_seconds",
///                   "throughput": [{"seconds", "mb_per_second", "running"}],
///                   "types": [{"label", "constraint", "device", "bandwidth_mb_per_second", "direction", "tasks", "failed",
///                              "running", "waiting", "learning", "tasks_learning", "current_mb_per_second", "at_once",
///                              "registry": [{"mb_per_second", "at_once", "seconds"}],
///                              "history": [{"seconds", "mb_per_second", "at_once", "waiting", "tasks", "learning"}]}]}]}
///
/// A device has one entry, whatever names lead to it. `names` are those that tasks used; `name` is the first of them, and the settings are
/// its own. `device` of a type is the name that its tasks use, and `bandwidth_mb_per_second` what the device gives by that name.
///
/// `seconds` of a history count from the first task of the process that was described with a constraint. A device without a number in MB/s
/// (an `adaptive` one need not be measured) has 0 there. `at_once` always says how many tasks that lets run. `tasks` is how many of the
/// type had ended by then. Any thread may ask; it never suspends a task. Numbers are a snapshot; a history keeps every change, thinned out
/// beyond some thousands.
std::string admission_report();

}  // namespace dovetail
