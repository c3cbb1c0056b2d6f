#include "tasking/live_runtimes.hpp"

#include <algorithm>
#include <vector>

#include "base/process_mutex.hpp"

namespace dovetail::tasking {
namespace {

struct LiveRuntimes {
  base::ProcessMutex mutex;
  std::vector<RuntimeCore*> cores GUARDED_BY(mutex);
};
// Never destroyed: runtimes may end at the very end of the process.
LiveRuntimes& live_runtimes() {
  static auto* const instance = new LiveRuntimes;
  return *instance;
}

}  // namespace

void add_live_runtime(RuntimeCore* core) {
  const base::LockGuard lock(live_runtimes().mutex);
  live_runtimes().cores.push_back(core);
}

void remove_live_runtime(RuntimeCore* core) noexcept {
  const base::LockGuard lock(live_runtimes().mutex);
  std::erase(live_runtimes().cores, core);
}

void if_live(const RuntimeCore* core, const std::function<void(RuntimeCore&)>& visit) {
  LiveRuntimes& live = live_runtimes();
  const base::LockGuard lock(live.mutex);
  const auto found = std::find(live.cores.begin(), live.cores.end(), core);
  if (found != live.cores.end()) {
    visit(**found);
  }
}

void for_each_live_runtime(const std::function<void(RuntimeCore&)>& visit) {
  LiveRuntimes& live = live_runtimes();
  const base::LockGuard lock(live.mutex);
  for (RuntimeCore* core : live.cores) {
    visit(*core);
  }
}

// The thread that forked held the lock, so that no thread was in the midst of changing them; in the child there is no other thread.
void for_each_live_runtime_after_fork(const std::function<void(RuntimeCore&)>& visit) NO_THREAD_SAFETY_ANALYSIS {
  for (RuntimeCore* core : live_runtimes().cores) {
    visit(*core);
  }
}

}  // namespace dovetail::tasking
