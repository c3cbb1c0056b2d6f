#include "tasking/background.hpp"

#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "base/process_mutex.hpp"
#include "base/without_signals.hpp"
#include "dovetail/runtime.hpp"
#include "tasking/core.hpp"
#include "tasking/hosting.hpp"

namespace dovetail::tasking {
namespace {

struct OwnRuntime {
  base::ProcessMutex mutex;
  Options options GUARDED_BY(mutex){.workers = 1, .io_executors = 4, .engine = "threads"};
  std::unique_ptr<Runtime> runtime GUARDED_BY(mutex);
  bool refused GUARDED_BY(mutex) = false;
};

// Never destroyed: there may be work at the very end of the process.
OwnRuntime& own() {
  static auto* const instance = new OwnRuntime;
  return *instance;
}

RuntimeCore* own_core() {
  const base::LockGuard lock(own().mutex);
  return own().runtime != nullptr ? &own().runtime->core() : nullptr;
}

bool make_runtime() noexcept {
  OwnRuntime& place = own();
  const base::LockGuard lock(place.mutex);
  if (place.runtime != nullptr && !place.runtime->core().forked.load(std::memory_order_relaxed)) {
    return true;
  }
  if (place.refused) {
    return false;
  }
  try {
    const base::WithoutSignals quiet;  // the program does not know the threads that are made
    place.runtime = std::make_unique<Runtime>(place.options);
  } catch (const std::exception& error) {
    place.refused = true;
    std::fprintf(stderr, "dovetail: no runtime can be made, so nothing is done in the background: %s\n", error.what());
  }
  return !place.refused;
}

// `use` says whether there was a runtime.
template <class Use>
bool with_runtime(Use use) noexcept {
  try {
    return use(own_core()) || (make_runtime() && use(own_core()));
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace

void set_background_options(const Options& options) {
  const base::LockGuard lock(own().mutex);
  own().options = options;
}

bool spawn_in_background(const TaskDescription& description, std::function<void()> body) noexcept {
  return with_background_runtime([&](RuntimeCore& core) {
    Task* crowded = nullptr;  // the throttle does not delay the caller: other threads may wait for this work
    spawn_in(&core, &description, std::move(body), crowded);
  });
}

bool with_background_runtime(const std::function<void(detail::RuntimeCore&)>& use) noexcept {
  return with_runtime([&](const RuntimeCore* last) {
    return with_host(last, [&](RuntimeCore& core) {
      std::optional<base::WithoutSignals> quiet;
      if (&core == last) {
        quiet.emplace();  // a thread may be made for it
      }
      use(core);
    });
  });
}

bool call_in_background(base::TimePoint when, std::function<void()> action) noexcept {
  return with_runtime([&](const RuntimeCore* last) { return call_on_host(last, when, action); });
}

void end_background() noexcept {
  std::unique_ptr<Runtime> ended;
  {
    const base::LockGuard lock(own().mutex);
    ended = std::move(own().runtime);
  }
}

}  // namespace dovetail::tasking
