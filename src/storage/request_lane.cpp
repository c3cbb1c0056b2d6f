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
bool RequestLane::has_room() const noexcept {
  return in_flight_ < std::max<unsigned>(route().depth, device_.tasks_at_once());
}

void RequestLane::admit(Request& request) noexcept {
  ++in_flight_;
  device_.request_begins();
  request.on_threads = route().threads;
}

RequestLane::Entry RequestLane::enter(Request& request) {
  const base::LockGuard lock(mutex_);
  if (!has_room()) {
    // Under the lock: whoever cancels sees it in the queue, or it sees here that it was cancelled.
    if (given_up(request)) [[unlikely]] {
      return Entry::cancelled;
    }
    waiting_.push(request);
    return Entry::kept;
  }
  admit(request);
  return Entry::start;
}

RequestQueue RequestLane::take_cancelled() {
  const base::LockGuard lock(mutex_);
  return waiting_.take([](const Request& request) { return given_up(request); });
}

RequestQueue RequestLane::leave(const Request& request) {
  RequestQueue startable;
  const base::LockGuard lock(mutex_);
  --in_flight_;
  device_.request_ends();
  if (transfers(request.kind)) {
    device_.moved(direction_of(request.kind), request.transferred);
  }
  // While tasks are admitted by the number, their number is what is varied.
  if (!forced_ && !level_.settled() && device_.tasks_at_once() == 0) {
    level_.ended(base::ticks(), request.transferred, in_flight_ + static_cast<unsigned>(waiting_.size()));
  }
  while (!waiting_.empty() && has_room()) {
    Request* const next = waiting_.pop();
    admit(*next);
    startable.push(*next);
  }
  return startable;
}

}  // namespace dovetail::storage
