// The budgets of this process: one for each device, whatever its names, which all runtimes share.
#pragma once

#include <atomic>
#include <functional>

#include "admission/budget.hpp"
#include "base/mutex.hpp"
#include "device/names.hpp"

namespace dovetail::admission {

/// Never destroyed. The child of a fork has others: what is inside and waits here is the parent's. Thread-safe.
class DeviceBudget {
 public:
  /// @param first  By which name the device was first used.
  explicit DeviceBudget(device::NamedDevice& first) : first_(first), budget_(&first.device()) {}

  device::Device& device() const noexcept { return first_.device(); }
  /// By which reports call it.
  device::NamedDevice& first_name() const noexcept { return first_; }
  Budget& budget() noexcept { return budget_; }
  const Budget& budget() const noexcept { return budget_; }
  /// Lets `adaptive` begin where an earlier run, a measurement, the requests of this one or the kernel say; once.
  /// @param named  By which a task uses it.
  void recall(const device::NamedDevice& named, Direction direction);
  /// Writes down what was learned, if that is news.
  void remember();

 private:
  device::NamedDevice& first_;
  base::Mutex remembering_;
  std::atomic<bool> recalled_{false};
  device::Level remembered_ GUARDED_BY(remembering_);
  Budget budget_;
};

DeviceBudget& budget_of(device::NamedDevice& named);
/// Visits all budgets of the process.
void for_each_budget(const std::function<void(DeviceBudget&)>& visit);

}  // namespace dovetail::admission
