// The budgets of this process: one for each name of a device, which all its runtimes share.
#pragma once

#include <atomic>
#include <functional>

#include "admission/budget.hpp"
#include "base/mutex.hpp"
#include "device/names.hpp"

namespace dovetail::admission {

/// Never destroyed. The child of a fork has others: what is inside and waits here is the parent's.
class DeviceBudget {
 public:
  explicit DeviceBudget(device::NamedDevice& named)
      : named_(named), budget_(named.name(), named.settings().most_at_once, &named.device()) {}

  device::NamedDevice& named() const noexcept { return named_; }
  Budget& budget() noexcept { return budget_; }
  const Budget& budget() const noexcept { return budget_; }
  /// Lets `adaptive` begin where an earlier run, a measurement, the requests of this one or the kernel say; once.
  void recall(Direction direction);
  /// Writes down what was learned, if that is news.
  void remember();

 private:
  device::NamedDevice& named_;
  base::Mutex remembering_;
  std::atomic<bool> recalled_{false};
  device::Level remembered_ GUARDED_BY(remembering_);
  Budget budget_;
};

DeviceBudget& budget_of(device::NamedDevice& named);
/// Visits all budgets of the process.
void for_each_budget(const std::function<void(DeviceBudget&)>& visit);

}  // namespace dovetail::admission
