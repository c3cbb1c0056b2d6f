#include <atomic>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/process_mutex.hpp"
#include "tasking/cancellation.hpp"
#include "tasking/context.hpp"
#include "tasking/core.hpp"
#include "tasking/executors.hpp"
#include "tasking/gate.hpp"
#include "tasking/live_runtimes.hpp"
#include "tasking/service.hpp"
#include "tasking/service_registry.hpp"
#include "tasking/worker.hpp"

namespace dovetail::tasking {
namespace {

struct Registry {
  base::ProcessMutex mutex;
  std::vector<std::pair<const void*, ServiceFactory>> factories GUARDED_BY(mutex);
};

Registry& registry() {
  static auto* const instance = new Registry;
  return *instance;
}

}  // namespace

bool register_service(const void* key, ServiceFactory factory) {
  Registry& all = registry();
  const base::LockGuard lock(all.mutex);
  all.factories.emplace_back(key, std::move(factory));
  return true;
}

namespace {
constinit std::atomic<void (*)(const RuntimeCore*) noexcept> cancel_hook{nullptr};
}  // namespace

bool register_cancel_hook(void (*hook)(const RuntimeCore* core) noexcept) {
  cancel_hook.store(hook, std::memory_order_release);
  return true;
}

void tell_cancelled(const RuntimeCore* core) noexcept {
  if (auto* const hook = cancel_hook.load(std::memory_order_acquire)) {
    hook(core);
  }
  if (Gate* gate = find_gate()) {
    gate->cancelled(core);
  }
  std::vector<std::stop_source> stopped;
  if_live(core, [&stopped](RuntimeCore& live) {
    live.reactor.descriptors().end_cancelled(&is_cancelled);
    stopped = live.stops.of_cancelled(&is_cancelled);
  });
  for (std::stop_source& source : stopped) {
    source.request_stop();
  }
}

void make_services(RuntimeCore& core) {
  // Called outside of the lock: a service may take locks of its own, and do anything.
  const auto factories = [&all = registry()] {
    const base::LockGuard lock(all.mutex);
    return all.factories;
  }();
  for (const auto& [key, factory] : factories) {
    core.services.push_back({key, factory(core, core.options, core.options.workers)});
    Service& service = *core.services.back().service;
    if (core.parking == nullptr && service.parks()) {
      core.parking = &service;
      core.polled.add_parking(core.reactor, core.idle, core.options.workers, service);
    } else {
      core.polled.add(core.reactor, service);
    }
  }
}

Service* find_service(RuntimeCore& core, const void* key) noexcept {
  for (const ServiceEntry& entry : core.services) {
    if (entry.key == key) {
      return entry.service.get();
    }
  }
  return nullptr;
}

Service* find_resident(RuntimeCore& core) noexcept {
  for (const ServiceEntry& entry : core.services) {
    if (entry.service->lives_here()) {
      return entry.service.get();
    }
  }
  return nullptr;
}

void tell_resident(RuntimeCore& core) noexcept {
  {
    const base::LockGuard lock(core.foreign.mutex);
    core.foreign.changed.notify_all();
  }
  core.selections.wake_threads();
}

void begin_polling(RuntimeCore& core) noexcept { core.polled.begin(); }

void request_flush() noexcept {
  if (Worker* worker = context().worker) {
    worker->operations.prepared = true;
    worker->begin_operations(true);
  }
}

void post_blocking(RuntimeCore& core, BlockingWork* work) { core.executors->run_work(work); }

bool is_ending(const RuntimeCore& core) noexcept { return core.stopping.load(std::memory_order_relaxed); }

}  // namespace dovetail::tasking
