#include "tasking/access_observer.hpp"

#include <atomic>

namespace dovetail::tasking {
namespace {
constinit std::atomic<AccessObserverFactory> the_factory{nullptr};
}

bool register_access_observer(AccessObserverFactory factory) noexcept {
  the_factory.store(factory, std::memory_order_release);
  return true;
}

std::unique_ptr<AccessObserver> make_access_observer(detail::RuntimeCore& core) {
  const AccessObserverFactory factory = the_factory.load(std::memory_order_acquire);
  return factory != nullptr ? factory(core) : nullptr;
}

}  // namespace dovetail::tasking
