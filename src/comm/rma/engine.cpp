#include "comm/rma/engine.hpp"

#include <memory>
#include <utility>

#include "comm/rma/group.hpp"
#include "tasking/context.hpp"
#include "tasking/core.hpp"

namespace dovetail::comm::rma {
namespace {

const char key = 0;

const bool registered = tasking::register_service(
    &key, [](detail::RuntimeCore& core, const Options&, unsigned) { return std::make_unique<Engine>(core); });

// Not set: it learns.
constexpr std::chrono::nanoseconds learns{-1};

}  // namespace

Engine::Engine(detail::RuntimeCore& core) : core_(core), sources_(core.sources), linger_(learns) {
  sources_->add(this);
}

Engine::~Engine() { sources_->remove(this); }

Engine& Engine::of(const Task* task) noexcept {
  return static_cast<Engine&>(*tasking::find_service(tasking::runtime_of(task), &key));
}

void Engine::begin() noexcept {
  if (in_flight_.fetch_add(1, std::memory_order_seq_cst) == 0) {
    tasking::begin_polling(core_);
  }
}

unsigned Engine::tell_each(base::Fifo<Waiter>& ended) noexcept {
  unsigned told = 0;
  const tasking::OutsideOfTask outside;
  while (Waiter* const waiter = ended.pop()) {
    if (waiter->then == Waiter::Then::forget) {
      delete waiter;
      continue;
    }
    ++told;
    if (waiter->then == Waiter::Then::tell) {
      waiter->has_ended.store(true, std::memory_order_release);  // from here on it is gone
      continue;
    }
    Task* const task = waiter->task;
    waiter->engine->in_flight_.fetch_sub(
        1, std::memory_order_seq_cst);  // before the task goes on, which may end its runtime
    if (waiter->then == Waiter::Then::wake) {
      tasking::wake(task);  // from here on it is gone
      continue;
    }
    std::exception_ptr cause = std::move(waiter->cause);
    delete waiter;
    tasking::fulfill_event(task, std::move(cause));
  }
  return told;
}

unsigned Engine::poll(unsigned worker, tasking::PollScope scope) {
  if (scope == tasking::PollScope::own || in_flight_.load(std::memory_order_relaxed) == 0) {
    return 0;
  }
  base::Fifo<Waiter> ended;
  {
    const Group::Use use;
    Group* const group = use.get();
    if (group == nullptr) {
      return 0;
    }
    if (worker != no_worker) {  // an idle one, which asks all the time and says before it sleeps
      group->stay_awake();
      group->look(ended);
    } else {
      if (group->must_take_events()) {
        group->take_events(ended);
      }
      // If an idle worker has stopped looking since, the next poll by the clock sees that.
      const bool is_looked_at = group->was_looked_at();
      // While workers compute and notifications come, the clock is soon enough. Each ring would cost both sides a system call, and take the core
      // from a body. A worker says that it sleeps before it parks.
      const bool is_soon_again = core_.idle.count() < core_.workers.size() && interval_.is_short();
      if (is_looked_at || is_soon_again) {
        group->look(ended);
      } else {
        group->look_and_sleep(ended);
      }
    }
  }
  const unsigned told = tell(ended);
  if (worker == no_worker) {
    interval_.polled(told > 0);
  } else if (told > 0) {
    interval_.found();
  }
  return told;
}

int Engine::descriptor() const noexcept {
  const Group::Use use;
  return use.get() != nullptr ? use.get()->descriptor() : -1;
}

std::chrono::nanoseconds Engine::linger() noexcept {
  return in_flight_.load(std::memory_order_relaxed) > 0 ? linger_.ask() : std::chrono::nanoseconds{};
}

bool Engine::may_sleep() noexcept {
  if (in_flight_.load(std::memory_order_relaxed) == 0) {
    return true;
  }
  const Group::Use use;
  return use.get() == nullptr || use.get()->may_sleep();
}

bool Engine::for_each_wait(const tasking::VisitWait& visit) const {
  const Group::Use use;
  if (use.get() != nullptr) {
    use.get()->for_each_wait([&](const Waiter& waiter) {
      if (waiter.engine == this) {
        visit(waiter.task, [&waiter] { return waiter.text(); });
      }
    });
  }
  return true;
}

}  // namespace dovetail::comm::rma
