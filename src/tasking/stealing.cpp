#include "tasking/stealing.hpp"

#include <array>

#include "base/clock.hpp"
#include "tasking/little_work.hpp"

namespace dovetail::tasking {
namespace {

// The oldest of a batch is returned, and the next one lies on top of the deque.
Task* take_over(Worker& worker, Task* const* batch, std::size_t taken) {
  for (std::size_t i = taken - 1; i >= 1; --i) {
    __builtin_prefetch(batch[i], 1);
    worker.ready.push(batch[i]);
  }
  return batch[0];
}

}  // namespace

Task* steal(Worker& worker) {
  worker.search.declined = false;
  Victims& victims = worker.victims;
  if (victims.size() == 0) {
    return nullptr;
  }
  std::array<Task*, Deque::largest_batch> batch;
  const std::uint64_t now = base::ticks();
  const std::size_t first = victims.random_place();
  for (std::size_t i = 0; i < victims.size(); ++i) {
    Victims::Victim& victim = victims[(first + i) % victims.size()];
    if (Victims::is_known_to_prefer_its_own(victim, now)) {
      worker.search.declined = true;
      continue;
    }
    ReadyTasks& ready = victim.peer->ready;
    if (!ready.may_be_stolen_from() || is_better_left_alone(worker, *victim.peer, now)) {
      continue;
    }
    const std::size_t share = Victims::fair_share(victim, now);
    if (share == 0) {
      worker.search.declined = true;
      continue;
    }
    std::size_t taken = ready.steal(batch.data(), share);
    if (taken == 0 && share > 1) {
      taken = ready.steal_given(batch.data(), share);
    }
    if (taken > 0) {
      victims.stole_from(victim);
      return take_over(worker, batch.data(), taken);
    }
  }
  return nullptr;
}

}  // namespace dovetail::tasking
