#include "tasking/quiet.hpp"

#include <algorithm>

#include "tasking/core.hpp"
#include "tasking/executors.hpp"
#include "tasking/gate.hpp"
#include "tasking/throttle.hpp"

namespace dovetail::tasking {
namespace {

bool held_elsewhere(const RuntimeCore& core) noexcept {
  const Gate* const gate = find_gate();
  return gate != nullptr && gate->held_elsewhere(core);
}

// Whether no thread of the runtime has anything to do. A calling worker is idle too, or about to be.
bool nothing_runs(const RuntimeCore& core) noexcept {
  return core.idle.count() >= core.workers.size() && core.idle.searching() == 0 && core.queues.empty() &&
         core.executors->busy() == 0 && !core.throttle.holds_any() && core.root->children.load() > 0 &&
         core.visitors.load(std::memory_order_acquire) == 0 && !held_elsewhere(core);
}

}  // namespace

bool something_is_under_way(const RuntimeCore& core) noexcept {
  return core.reactor.has_timers() || core.reactor.waiting_for_descriptors() > 0 || core.in_flight() > 0 ||
         core.sources->has_pending();
}

bool somebody_waits(const RuntimeCore& core) noexcept {
  return core.foreign.waiting.load(std::memory_order_seq_cst) > 0 && nothing_runs(core);
}

bool nothing_can_run(const RuntimeCore& core) noexcept { return nothing_runs(core) && !something_is_under_way(core); }

void note_before_sleep(RuntimeCore& core) noexcept {
  if (!somebody_waits(core)) {
    core.stuck.activity();  // whatever goes on, it is not quiet
    return;
  }
  const base::TimePoint now = base::Clock::now();
  core.stuck.note_nothing_runs(now);
  if (!something_is_under_way(core)) {
    core.stuck.note_quiet(now);
    core.reactor.expect(Reactor::Upkeep::stuck, now + first_look_when_quiet);
  }
}

}  // namespace dovetail::tasking
