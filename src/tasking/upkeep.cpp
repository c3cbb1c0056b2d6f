#include "tasking/upkeep.hpp"

#include <chrono>
#include <new>

#include "tasking/core.hpp"
#include "tasking/executors.hpp"
#include "tasking/long_waits.hpp"
#include "tasking/stuck.hpp"
#include "tasking/throttling.hpp"
#include "tasking/worker.hpp"

namespace dovetail::tasking {
namespace {

constexpr std::chrono::seconds until_there_is_memory{1};

base::TimePoint give_back_fibers(RuntimeCore& core) noexcept {
  const std::chrono::milliseconds next = core.fibers.give_back_surplus();
  for (const auto& worker : core.workers) {
    worker->leave_fibers();
  }
  return next.count() > 0 ? base::Clock::now() + next : base::TimePoint::max();
}

base::TimePoint look_at(RuntimeCore& core, Reactor::Upkeep upkeep) {
  switch (upkeep) {
    case Reactor::Upkeep::fibers:
      return give_back_fibers(core);
    case Reactor::Upkeep::stuck:
      return look_whether_stuck(core);
    case Reactor::Upkeep::long_waits:
      return look_for_long_waits(core, base::Clock::now());
    case Reactor::Upkeep::throttle:
      return look_after_spawners(core);
    case Reactor::Upkeep::executors:
      return core.executors->look();
    case Reactor::Upkeep::services:
      return core.polled.look_after();
  }
  return base::TimePoint::max();
}

base::TimePoint look(RuntimeCore& core, Reactor::Upkeep upkeep) noexcept {
  try {
    return look_at(core, upkeep);
  } catch (const std::bad_alloc&) {
    return base::Clock::now() + until_there_is_memory;  // only reports need any
  }
}

}  // namespace

Reactor::Duties duties_of_reactor() noexcept {
  return {.begin_turn = [](const RuntimeCore& core) noexcept { core.rest_if_abandoned(); }, .look = &look};
}

}  // namespace dovetail::tasking
