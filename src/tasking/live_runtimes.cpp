#include "tasking/live_runtimes.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

#include "base/process_mutex.hpp"

namespace dovetail::tasking {
namespace {

struct LiveRuntimes {
  base::ProcessMutex mutex;
  std::vector<RuntimeCore*> cores;
};
// Never destroyed: runtimes may end at the very end of the process.
LiveRuntimes& live_runtimes() {
  static auto* const instance = new LiveRuntimes;
  return *instance;
}

}  // namespace

void add_live_runtime(RuntimeCore* core) {
  const std::lock_guard lock(live_runtimes().mutex);
  live_runtimes().cores.push_back(core);
}

void remove_live_runtime(RuntimeCore* core) noexcept {
  const std::lock_guard lock(live_runtimes().mutex);
  std::erase(live_runtimes().cores, core);
}

void if_live(const RuntimeCore* core, const std::function<void(RuntimeCore&)>& visit) {
  const std::lock_guard lock(live_runtimes().mutex);
  const auto& cores = live_runtimes().cores;
  const auto found = std::find(cores.begin(), cores.end(), core);
  if (found != cores.end()) {
    visit(**found);
  }
}

void for_each_live_runtime_after_fork(const std::function<void(RuntimeCore&)>& visit) {
  // The thread that forked held the lock, so that nobody was in the midst of changing them.
  for (RuntimeCore* core : live_runtimes().cores) {
    visit(*core);
  }
}

}  // namespace dovetail::tasking
