// What tasks call devices: the names of dovetail.toml, and paths.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/process_mutex.hpp"
#include "device/device.hpp"
#include "dovetail/device.hpp"

namespace dovetail::device {

/// A device under one name. Several names may lead to one device, such as two folders of dovetail.toml on one file system. Each name has
/// bandwidths of its own. What was measured, and how many tasks there may be, is the device's. Lives as long as the process. Thread-safe.
class NamedDevice {
 public:
  NamedDevice(StorageDevice settings, std::string folder, Device& on);

  const std::string& name() const noexcept { return settings_.name; }
  const StorageDevice& settings() const noexcept { return settings_; }
  Device& device() const noexcept { return device_; }
  /// On it, where it can be measured.
  const std::string& folder() const noexcept { return folder_; }

  /// The settings, with the bandwidths as far as they are known, and the number of tasks that holds for the device.
  StorageDevice description() const;
  /// MB/s: from the settings, or as measured in this run or an earlier one; 0: not known.
  double known_bandwidth(Direction direction) const;
  /// MB/s. Measures, and blocks for half a second or more, if it is not known.
  /// @throws std::invalid_argument if it cannot be measured.
  double bandwidth(Direction direction) const;
  /// Whether the kernel says that heads move; it also says so of virtual disks of which it knows nothing.
  bool has_moving_heads() const noexcept;

 private:
  const StorageDevice settings_;
  const std::string folder_;
  Device& device_;
};

/// The names that one file of settings gives, and those of paths. Lives as long as the process. Thread-safe.
class Names {
 public:
  /// Those of a runtime with this setting (Options::config). @throws std::invalid_argument as `read_configuration`.
  static Names& of(const std::string& config);

  /// See `dovetail::storage_device`. @throws std::invalid_argument if there is no such device.
  NamedDevice& find(std::string_view name_or_path);
  const std::vector<NamedDevice*>& configured() const noexcept { return configured_; }

 private:
  explicit Names(const std::string& file);
  void configure(const std::string& file, const NamedDevice& named) const;
  NamedDevice& look_up(const std::string& name_or_path);
  NamedDevice* longest_match(const std::string& path) const;

  std::vector<NamedDevice*> configured_;
  base::ProcessMutex mutex_;
  std::unordered_map<std::string, NamedDevice*> known_ GUARDED_BY(mutex_);  ///< By what tasks called them.
};

}  // namespace dovetail::device
