#include "storage/request_lane.hpp"

#include "base/clock.hpp"

namespace dovetail::storage {

RequestLane::RequestLane(LearnedDevice& device, Lane lane, const std::array<Route, Learner::candidates>& routes,
                         bool fixed)
    : device_(device),
      lane_(lane),
      learner_(routes, fixed || lane == metadata || device.in_memory),
      fixed_(fixed || lane == metadata || device.in_memory) {
  if (!fixed_) {
    const std::lock_guard lock(device.mutex);
    learner_.adopt(device.learned[lane]);
  }
}

void RequestLane::admit(Request& request) noexcept {
  ++in_flight_;
  request.on_threads = learner_.route().threads;
}

RequestLane::Entry RequestLane::enter(Request& request) {
  const std::lock_guard lock(mutex_);
  if (in_flight_ >= learner_.route().depth) {
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
  RequestQueue cancelled;
  RequestQueue others;
  const std::lock_guard lock(mutex_);
  while (Request* request = waiting_.pop()) {
    (given_up(*request) ? cancelled : others).push(*request);
  }
  waiting_ = others;
  return cancelled;
}

RequestQueue RequestLane::leave(const Request& request) {
  RequestQueue startable;
  const std::lock_guard lock(mutex_);
  --in_flight_;
  if (!fixed_) {
    const Route before = learner_.route();
    learner_.ended(base::ticks(), request.transferred, in_flight_ + static_cast<unsigned>(waiting_.size()));
    if (learner_.route() != before) [[unlikely]] {
      const std::lock_guard device_lock(device_.mutex);
      device_.learned[lane_].adopt(learner_);
    }
  }
  while (!waiting_.empty() && in_flight_ < learner_.route().depth) {
    Request* next = waiting_.pop();
    admit(*next);
    startable.push(*next);
  }
  return startable;
}

Route RequestLane::route() const {
  const std::lock_guard lock(mutex_);
  return learner_.route();
}

}  // namespace dovetail::storage
