#include "tasking/hosting.hpp"

#include <pthread.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/process_mutex.hpp"
#include "tasking/context.hpp"
#include "tasking/core.hpp"

namespace dovetail::tasking {
namespace {

using Calls = std::multimap<base::TimePoint, std::function<void()>>;

struct Hosts {
  base::ProcessMutex mutex;
  std::vector<RuntimeCore*> cores GUARDED_BY(mutex);
  base::ProcessMutex calls_mutex;  // may be taken with the other one held, never the other way round
  Calls calls GUARDED_BY(calls_mutex);
};

// Never destroyed: runtimes may end at the very end of the process.
Hosts& hosts() {
  static auto* const instance = [] {
    auto* const made = new Hosts;
    static Hosts* known = made;
    // They are the parent's. The child has no thread that could hold the lock.
    pthread_atfork(nullptr, nullptr, []() NO_THREAD_SAFETY_ANALYSIS { known->calls.clear(); });
    return made;
  }();
  return *instance;
}

void call_until(base::TimePoint end) noexcept {
  for (;;) {
    Calls::node_type due;
    {
      const base::LockGuard lock(hosts().calls_mutex);
      Calls& calls = hosts().calls;
      if (calls.empty() || calls.begin()->first > end) {
        return;
      }
      due = calls.extract(calls.begin());
    }
    due.mapped()();
  }
}

}  // namespace

void begin_hosting(RuntimeCore& core) {
  const base::LockGuard lock(hosts().mutex);
  hosts().cores.push_back(&core);
}

void end_hosting(RuntimeCore& core) noexcept {
  {
    const base::LockGuard lock(hosts().mutex);
    std::erase(hosts().cores, &core);
  }
  call_until(base::TimePoint::max());
}

bool with_host(const RuntimeCore* last, const std::function<void(RuntimeCore&)>& visit) {
  const RuntimeCore* const own = context().core;
  const base::LockGuard lock(hosts().mutex);
  const auto rank = [&](const RuntimeCore* core) { return core == own ? 2 : core != last ? 1 : 0; };
  RuntimeCore* best = nullptr;
  for (RuntimeCore* core : hosts().cores) {
    if (!core->forked.load(std::memory_order_relaxed) && (best == nullptr || rank(core) > rank(best))) {
      best = core;
    }
  }
  if (best != nullptr) {
    visit(*best);
  }
  return best != nullptr;
}

bool call_on_host(const RuntimeCore* last, base::TimePoint when, std::function<void()> action) {
  return with_host(last, [&](RuntimeCore& core) {
    {
      // While the host cannot end: `end_hosting` calls whatever it finds here.
      const base::LockGuard lock(hosts().calls_mutex);
      hosts().calls.emplace(when, std::move(action));
    }
    core.reactor.call_at(when, [] { call_until(base::Clock::now()); });
  });
}

}  // namespace dovetail::tasking
