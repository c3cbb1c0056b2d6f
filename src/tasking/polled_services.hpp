// Services that do not put workers to sleep themselves are polled by the clock, and when their descriptor is ready, for as long as they
// have something in flight; whatever the workers are doing.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "dovetail/detail/body.hpp"

namespace dovetail::tasking {

using detail::RuntimeCore;
class Service;

class PolledServices {
 public:
  /// Before the workers start.
  void add(RuntimeCore& core, Service& service);
  /// Sees to it that services with something in flight are polled. Called by workers between tasks and before they sleep.
  void look() noexcept {
    if (!entries_.empty()) {
      look_at_each();
    }
  }

 private:
  struct Entry;
  void look_at_each() noexcept;
  std::vector<std::shared_ptr<Entry>> entries_;
};

}  // namespace dovetail::tasking
