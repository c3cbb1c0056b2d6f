#include "draining.hpp"

#include <atomic>

namespace dovetail::interpose::staged {
namespace {

// More would take turns at the same final file system.
constexpr unsigned most_drains_at_once = 2;

using dovetail::staging::BackgroundDrain;
constinit std::atomic<BackgroundDrain*> all{nullptr};

}  // namespace

BackgroundDrain& drains() {
  BackgroundDrain* found = all.load(std::memory_order_acquire);
  if (found == nullptr) {
    auto* const made = new BackgroundDrain(most_drains_at_once);
    if (all.compare_exchange_strong(found, made)) {
      return *made;
    }
    delete made;
  }
  return *found;
}

void forget_drains() { all = nullptr; }

}  // namespace dovetail::interpose::staged
