#include "storage/request_lane.hpp"

#include <algorithm>

#include "base/clock.hpp"

namespace dovetail::storage {

// The level of requests that transfer nothing is never asked.
RequestLane::RequestLane(Device& device, std::uint8_t lane, std::optional<Route> forced)
    : device_(device),
      forced_(forced),
      level_(device.requests(static_cast<device::RequestKind>(lane == metadata ? 0 : lane))) {}

Route RequestLane::route() const noexcept { return forced_ ? *forced_ : level_.route(); }

// Where tasks are admitted by their number, that is the level of the device: they are not kept back a second time here.
bool RequestLane::has_room(RequestCounts counts) const noexcept {
  return in_flight(counts) < std::max<unsigned>(route().depth, device_.tasks_at_once());
}

// Those that are kept go first. `counts` is what was found.
bool RequestLane::keeps_none_and_admits(RequestCounts& counts) noexcept {
  while (kept(counts) == 0 && has_room(counts)) {
    if (counts_.compare_exchange_weak(counts, counts + one_in_flight, std::memory_order_acq_rel,
                                      std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

void RequestLane::admit(Request& request) noexcept {
  device_.request_begins();
  request.on_threads = route().threads;
}

RequestLane::Entry RequestLane::enter(Request& request) {
  RequestCounts counts = counts_.load(std::memory_order_relaxed);
  if (keeps_none_and_admits(counts)) [[likely]] {
    admit(request);
    return Entry::start;
  }
  const base::LockGuard lock(mutex_);
  // Under the lock: the thread that cancels sees the request in the queue, or the cancellation is seen here.
  if (given_up(request)) [[unlikely]] {
    return Entry::cancelled;
  }
  do {
    if (keeps_none_and_admits(counts)) {
      admit(request);
      return Entry::start;
    }
  } while (
      !counts_.compare_exchange_weak(counts, counts + one_kept, std::memory_order_acq_rel, std::memory_order_relaxed));
  waiting_.push(request);
  return Entry::kept;
}

RequestQueue RequestLane::take_cancelled() {
  const base::LockGuard lock(mutex_);
  RequestQueue cancelled = waiting_.take([](const Request& request) { return given_up(request); });
  counts_.fetch_sub(cancelled.size() * one_kept, std::memory_order_acq_rel);
  return cancelled;
}

bool RequestLane::admits_kept() noexcept {
  RequestCounts counts = counts_.load(std::memory_order_relaxed);
  while (kept(counts) > 0 && has_room(counts)) {
    if (counts_.compare_exchange_weak(counts, counts - one_kept + one_in_flight, std::memory_order_acq_rel,
                                      std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

RequestQueue RequestLane::leave(const Request& request) {
  device_.request_ends();
  if (transfers(request.kind)) {
    device_.moved(direction_of(request.kind), request.transferred);
  }
  const RequestCounts counts = counts_.fetch_sub(one_in_flight, std::memory_order_acq_rel) - one_in_flight;
  // While tasks are admitted by the number, their number is what is varied.
  if (!forced_ && !level_.decided() && device_.tasks_at_once() == 0) {
    level_.ended(base::ticks(), request.transferred, in_flight(counts) + kept(counts));
  }
  RequestQueue startable;
  if (kept(counts) > 0) [[unlikely]] {
    const base::LockGuard lock(mutex_);
    while (admits_kept()) {
      Request* const next = waiting_.pop();
      admit(*next);
      startable.push(*next);
    }
  }
  return startable;
}

}  // namespace dovetail::storage
