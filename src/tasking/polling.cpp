#include "dovetail/polling.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "base/clock.hpp"
#include "dovetail/runtime.hpp"
#include "tasking/core.hpp"

namespace dovetail {

// Kept alive by the timer that is set for it. `armed` says that there is one.
struct PollingService::State : std::enable_shared_from_this<State> {
  State(detail::RuntimeCore& of, std::string name, PollingRate bounds, std::function<std::size_t()> function)
      : core(of), label(std::move(name)), rate(bounds), poll(std::move(function)), interval(bounds.shortest.count()) {}

  void arm() {
    const base::TimePoint when =
        base::Clock::now() + std::chrono::nanoseconds(interval.load(std::memory_order_relaxed));
    if (core.timers.call_at(when, [self = shared_from_this()] { self->run(); })) {
      core.idle.wake_one();
    }
  }

  void run() {
    std::unique_lock lock(mutex);
    if (!closed) {
      const std::size_t found = poll();
      adapt(found);
      pending.fetch_sub(static_cast<std::int64_t>(found), std::memory_order_acq_rel);
    }
    armed.store(false, std::memory_order_seq_cst);
    const bool again = !closed && pending.load(std::memory_order_seq_cst) > 0 && !armed.exchange(true);
    lock.unlock();
    if (again) {
      arm();
    }
  }

  // Twice as often after a poll that found something, a quarter less often after one that did not: quick to follow a burst, and
  // soon cheap while nothing comes.
  void adapt(std::size_t found) noexcept {
    const auto now = interval.load(std::memory_order_relaxed);
    const auto next = found > 0 ? now / 2 : now + now / 4 + 1;
    interval.store(std::clamp<std::int64_t>(next, rate.shortest.count(), rate.longest.count()),
                   std::memory_order_relaxed);
  }

  detail::RuntimeCore& core;
  const std::string label;
  const PollingRate rate;
  const std::function<std::size_t()> poll;
  std::mutex mutex;  ///< Held while polling.
  bool closed = false;
  std::atomic<std::int64_t> pending{0};  ///< Below zero while something has been found that is yet to be added.
  std::atomic<bool> armed{false};
  std::atomic<std::int64_t> interval;
};

PollingService::PollingService(Runtime& runtime, std::string label, PollingRate rate,
                               std::function<std::size_t()> poll) {
  if (rate.shortest.count() <= 0 || rate.longest < rate.shortest || !poll) {
    throw std::invalid_argument("polling service '" + label +
                                "': the rate needs 0 < shortest <= longest, and the function must not be empty");
  }
  state_ = std::make_shared<State>(runtime.core(), std::move(label), rate, std::move(poll));
}

PollingService::~PollingService() {
  std::lock_guard lock(state_->mutex);
  state_->closed = true;
}

void PollingService::add_pending(std::size_t count) {
  state_->pending.fetch_add(static_cast<std::int64_t>(count), std::memory_order_seq_cst);
  if (!state_->armed.exchange(true, std::memory_order_seq_cst)) {
    state_->interval.store(state_->rate.shortest.count(), std::memory_order_relaxed);
    state_->arm();
  }
}

std::size_t PollingService::pending() const noexcept {
  return static_cast<std::size_t>(std::max(std::int64_t{0}, state_->pending.load(std::memory_order_acquire)));
}

std::chrono::nanoseconds PollingService::interval() const noexcept {
  return std::chrono::nanoseconds(state_->interval.load(std::memory_order_relaxed));
}

}  // namespace dovetail
