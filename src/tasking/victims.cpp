#include "tasking/victims.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"

namespace dovetail::tasking {
namespace {

// A worker with small tasks is robbed of one all the same now and then, because it may be the root of many. That happens less and less
// often while the stolen tasks keep the thief for less than the least of these times.
constexpr std::uint64_t least_microseconds_between_thefts = 5;
constexpr std::uint64_t most_microseconds_between_thefts = 160;
// A worker with fewer of them may be on a chain, where each makes the next one ready: without its task it could do nothing.
constexpr std::int64_t least_of_small_tasks = 4;
// A worker that makes or completes fewer than one task in this time has other things to do, and is helped in any case.
constexpr std::uint64_t microseconds_of_a_step = 4;
constexpr std::uint64_t microseconds_between_looks = 20;
constexpr std::uint64_t microseconds_of_an_old_look = 200;

}  // namespace

bool Victims::prefers_its_own(Victim& victim, std::uint64_t now) noexcept {
  const std::uint64_t ticks = base::ticks_per_microsecond();
  const std::uint64_t elapsed = now - victim.looked_at;
  if (elapsed >= microseconds_between_looks * ticks) {
    const Peer& peer = *victim.peer;
    const std::uint64_t progress = peer.count.progress();
    // Its progress since a look long ago says nothing, nor does progress without work. It is given the benefit of the doubt until the
    // next look.
    const bool gets_on = elapsed >= microseconds_of_an_old_look * ticks || peer.has_no_work() ||
                         (progress - victim.progress) * microseconds_of_a_step * ticks >= elapsed;
    victim.prefers_its_own = peer.bodies.is_small() && gets_on;
    victim.progress = progress;
    victim.looked_at = now;
  }
  return victim.prefers_its_own;
}

bool Victims::is_known_to_prefer_its_own(const Victim& victim, std::uint64_t now) noexcept {
  return victim.prefers_its_own && now - victim.robbed_at < victim.between_thefts &&
         now - victim.looked_at < microseconds_between_looks * base::ticks_per_microsecond();
}

std::size_t Victims::fair_share(Victim& victim, std::uint64_t now) noexcept {
  const bool only_one = prefers_its_own(victim, now);
  if (only_one && now - victim.robbed_at < victim.between_thefts) {
    return 0;
  }
  victim.robbed_at = now;
  victim.between_thefts =
      std::max(victim.between_thefts, least_microseconds_between_thefts * base::ticks_per_microsecond());
  if (only_one) {
    return victim.peer->ready.size() >= least_of_small_tasks ? 1 : 0;
  }
  return Deque::largest_batch;
}

void Victims::judge_theft() noexcept {
  Victim& victim = *std::exchange(theft_, nullptr);
  const std::uint64_t least = least_microseconds_between_thefts * base::ticks_per_microsecond();
  const std::uint64_t most = most_microseconds_between_thefts * base::ticks_per_microsecond();
  const bool worth_it = base::ticks() - victim.robbed_at >= least;
  victim.between_thefts = std::clamp(worth_it ? 0 : 2 * victim.between_thefts, least, most);
}

}  // namespace dovetail::tasking
