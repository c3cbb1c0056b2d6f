// The devices of this process: those that a configuration names, and those that are found behind paths.
#pragma once

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "admission/budget.hpp"
#include "dovetail/admission.hpp"
#include "dovetail/device.hpp"

namespace dovetail::admission {

/// A device and its budget, which all runtimes of the process share. Never destroyed. The child of a fork has others: what is inside
/// and waits here is the parent's.
class SharedDevice {
 public:
  SharedDevice(StorageDevice description, std::string folder, std::string memory_key);

  Budget& budget() noexcept { return budget_; }
  const Budget& budget() const noexcept { return budget_; }
  StorageDevice description() const;
  /// MB/s. Measures, and blocks for up to half a second, if neither the configuration nor an earlier run says.
  /// @throws std::invalid_argument if it cannot be measured.
  double bandwidth(Direction direction);
  /// MB/s as far as it is known; 0: not known.
  double known_bandwidth(Direction direction) const;
  /// Lets the budget start with what an earlier run learned, or the kernel knows; once.
  void recall();
  /// Writes down what was learned, if that is news.
  void remember();

 private:
  double& place(Direction direction) noexcept;

  mutable std::mutex mutex_;
  std::mutex measuring_;
  std::mutex remembering_;
  AdaptiveLearner::Memory remembered_;
  StorageDevice description_;
  const std::string folder_;  ///< To measure in.
  const std::string memory_key_;
  std::atomic<bool> recalled_ = false;
  Budget budget_;
};

/// The devices as one configuration names them.
class Devices {
 public:
  /// Those of a runtime with this setting (Options::config). @throws std::invalid_argument as `read_configuration`.
  static Devices& of(const std::string& config);
  /// Visits all devices of the process.
  static void for_each(const std::function<void(SharedDevice&)>& visit);

  /// See `dovetail::storage_device`. @throws std::invalid_argument if there is no such device.
  SharedDevice& find(std::string_view name_or_path);
  std::vector<StorageDevice> configured() const;

 private:
  explicit Devices(const std::string& file);
  SharedDevice& look_up(const std::string& name_or_path);

  std::vector<SharedDevice*> configured_;
  std::shared_mutex mutex_;
  std::unordered_map<std::string, SharedDevice*> known_;  ///< By what tasks called them.
};

}  // namespace dovetail::admission
