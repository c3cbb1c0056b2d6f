#include "admission/budgets.hpp"

#include <pthread.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "device/remembered.hpp"

namespace dovetail::admission {
namespace {

constexpr double same_rate_within = 0.1;
// Tasks at once: each more costs the heads moves, four slow ones more than the others gain in the meantime.
constexpr unsigned first_of_moving_heads = 2;

struct Table {
  base::ProcessMutex mutex;
  std::vector<std::unique_ptr<DeviceBudget>> all GUARDED_BY(mutex);
};
// Never destroyed: tasks of runtimes that were given up may end at any time. Those of the parent may hold the lock of a budget when the
// process forks, so that the child begins anew.
constinit std::atomic<Table*> the_table{nullptr};

// In the child of a fork, which has one thread.
void begin_anew() NO_THREAD_SAFETY_ANALYSIS {
  for (const auto& budget : the_table.load(std::memory_order_acquire)->all) {
    budget->device().forget_use();
  }
  the_table.store(new Table, std::memory_order_release);
}

Table& table() {
  static const int registered = [] {
    the_table.store(new Table, std::memory_order_release);
    return pthread_atfork(nullptr, nullptr, begin_anew);
  }();
  static_cast<void>(registered);
  return *the_table.load(std::memory_order_acquire);
}

// What the program's own requests have found, of large ones that are as tasks make them.
device::Level found_by_requests(device::Device& device, Direction direction) {
  const bool reads = direction == Direction::read;
  const device::Level direct = device.requests(reads ? device::direct_read_large : device::direct_write_large).found();
  return direct.at_once != 0
             ? direct
             : device.requests(reads ? device::buffered_read_large : device::buffered_write_large).found();
}

}  // namespace

void DeviceBudget::recall(const device::NamedDevice& named, Direction direction) {
  // Not std::call_once: it uses thread-local variables of libstdc++, which this library could not reach if a program had loaded both
  // late.
  if (recalled_.load(std::memory_order_acquire)) {
    return;
  }
  const base::LockGuard lock(remembering_);
  if (recalled_.load(std::memory_order_relaxed)) {
    return;
  }
  if (const device::Level level = device::recall_level(device().level_key()); level.at_once != 0) {
    budget_.recall(level);
  } else if (const auto curve = device().curve(direction); !curve.empty()) {
    budget_.begin_near(curve);
  } else if (const device::Level found = found_by_requests(device(), direction); found.at_once != 0) {
    budget_.begin_near({&found, 1});
  } else if (named.has_moving_heads()) {
    budget_.begin_with(first_of_moving_heads);
  }
  recalled_.store(true, std::memory_order_release);  // pairs with the first load
}

void DeviceBudget::remember() {
  const base::LockGuard lock(remembering_);
  const device::Level found = budget_.remember();
  const bool same_rate = std::abs(found.rate - remembered_.rate) <= same_rate_within * remembered_.rate;
  if ((found.at_once != remembered_.at_once || !same_rate) && device::remember_level(device().level_key(), found)) {
    remembered_ = found;
  }
}

DeviceBudget& budget_of(device::NamedDevice& named) {
  Table& budgets = table();
  const base::LockGuard lock(budgets.mutex);
  const auto found = std::find_if(budgets.all.begin(), budgets.all.end(),
                                  [&](const auto& budget) { return &budget->device() == &named.device(); });
  return found != budgets.all.end() ? **found : *budgets.all.emplace_back(std::make_unique<DeviceBudget>(named));
}

void for_each_budget(const std::function<void(DeviceBudget&)>& visit) {
  std::vector<DeviceBudget*> budgets;
  {
    Table& known = table();
    const base::LockGuard lock(known.mutex);
    for (const auto& budget : known.all) {
      budgets.push_back(budget.get());
    }
  }
  for (DeviceBudget* budget : budgets) {
    visit(*budget);
  }
}

}  // namespace dovetail::admission
