/// @file
/// The devices that tasks are admitted to (docs/admission.md), by the names of `dovetail.toml` or by paths: storage, and links to other nodes. How fast they are, and
/// what the system says about them, `dovetail-doctor` tells.
///
/// All functions may be called from any thread, block it while they read files or measure, and never suspend a task.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dovetail {

/// A storage device with a bandwidth, as `dovetail.toml` describes it or as it was found and measured.
struct StorageDevice {
  std::string name = {};  ///< What `TaskDescription::device` may call it.
  /// Folders on it. The longest that leads to a file decides whose the file is. None: it is a link, for instance.
  std::vector<std::string> paths = {};
  double read_mb_per_second = 0;   ///< Most that is read in a second, in 10^6 bytes; 0: not known (yet).
  double write_mb_per_second = 0;  ///< Most that is written in a second, likewise.
  bool shared = false;             ///< Used by several machines; else it belongs to this one.
  bool configured = false;         ///< From `dovetail.toml`; else found by path.
  unsigned most_at_once =
      0;  ///< More tasks than this never use it at a time, whatever their constraint; 0: any number.
};

/// The devices of `dovetail.toml`. `config` names the file. If it is empty, the file is that named by `DOVETAIL_CONFIG`, else
/// `dovetail.toml` in the current folder. Else it is `dovetail/dovetail.toml` in the user's folder of settings (`XDG_CONFIG_HOME`,
/// `~/.config`). None of these: no devices.
/// @throws std::invalid_argument naming the file, the line and what is wrong in it; or that a named file does not exist.
std::vector<StorageDevice> storage_devices(const std::string& config = {});

/// The device that a task with this `device` is admitted to: by name, or by a path (that need not exist yet). Empty: the first of the file,
/// or else that of the current folder. If `with_bandwidth`, a device that is not configured is measured. That takes half a second, more if
/// it is slow; the result is remembered in the user's folder of state.
/// @throws std::invalid_argument if there is no such device; and as `storage_devices`.
StorageDevice storage_device(std::string_view name_or_path = {}, const std::string& config = {},
                             bool with_bandwidth = true);

}  // namespace dovetail
