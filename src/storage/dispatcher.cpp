#include "storage/dispatcher.hpp"

#include <cerrno>
#include <utility>

#include "storage/open_file.hpp"
#include "storage/request_trace.hpp"

namespace dovetail::storage {
namespace {

// Of the others, nothing is asynchronous in that engine.
bool goes_to_aio(std::uint8_t lane) noexcept { return lane >= device::direct_read_small; }

}  // namespace

Dispatcher::Dispatcher(EngineChoice choice, unsigned workers)
    : choice_(choice),
      engine_is_given_(choice != EngineChoice::automatic),
      workers_(workers),
      counts_(std::make_unique<Counts[]>(workers)),
      lanes_(std::make_unique<std::atomic<RequestLane*>[]>(std::size_t{device::most_devices} * lanes)) {}

Dispatcher::~Dispatcher() {
  for (std::size_t i = 0; i < std::size_t{device::most_devices} * lanes; ++i) {
    delete lanes_[i].load(std::memory_order_relaxed);
  }
}

// Where an engine was asked for, or nothing is transferred, there is nothing to choose.
std::optional<Route> Dispatcher::forced_route(std::uint8_t lane) const noexcept {
  if (choice_ == EngineChoice::threads || (choice_ == EngineChoice::aio && !goes_to_aio(lane))) {
    return Route{true, 64};
  }
  if (lane == metadata) {
    return Route{false, 64};
  }
  if (choice_ == EngineChoice::automatic) {
    return std::nullopt;
  }
  return device::first_route(static_cast<device::RequestKind>(lane));
}

RequestLane& Dispatcher::lane_for(Device& device, std::uint8_t lane) {
  std::atomic<RequestLane*>& place = lanes_[std::size_t{device.index} * lanes + lane];
  if (RequestLane* made = place.load(std::memory_order_acquire)) [[likely]] {
    return *made;
  }
  const base::LockGuard lock(making_);
  RequestLane* made = place.load(std::memory_order_relaxed);
  if (made == nullptr) {
    made = new RequestLane(device, lane, forced_route(lane));
    place.store(made, std::memory_order_release);
  }
  return *made;
}

Engine& Dispatcher::engine_for(const Request& request, int worker) noexcept {
  if (!request.on_threads && worker >= 0) {
    const bool automatic = choice_ == EngineChoice::automatic;
    if ((automatic || choice_ == EngineChoice::uring) && ring().prepare(request, static_cast<unsigned>(worker)))
        [[likely]] {
      return ring();
    }
    if ((automatic || choice_ == EngineChoice::aio) && aio_->prepare(request, static_cast<unsigned>(worker))) {
      if (!aio_used_.load(std::memory_order_relaxed)) {
        aio_used_.store(true, std::memory_order_release);
      }
      return *aio_;
    }
  }
  return *threads_;
}

void Dispatcher::count_begun(Request& request, int worker) noexcept {
  request.dispatcher = this;
  Counts& counts = counts_[static_cast<unsigned>(worker)];
  counts.begun.store(counts.begun.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

void Dispatcher::dispatch(Request& request, Device* device, int worker) noexcept {
  plan_attempt(request);
  if (device == nullptr) {
    request.lane = lanes;
  } else {
    trace_begin(request);
    request.device = device;
    switch (lane_for(*device, request.lane).enter(request)) {
      case RequestLane::Entry::start:
        break;
      case RequestLane::Entry::kept:
        return;
      case RequestLane::Entry::cancelled:
        finish_unadmitted(request, worker);
        return;
    }
  }
  launch(request, worker);
}

void Dispatcher::attempt_ended(Request& request, std::int64_t result, int worker) noexcept {
  if (result == -ECANCELED && again_after_cancel(request, worker)) [[unlikely]] {
    result = -EINTR;
  }
  if (!attempt_done(request, result)) [[likely]] {
    finish(request, worker);
  } else if (given_up(request)) [[unlikely]] {
    request.error = ECANCELED;
    finish(request, worker);
  } else {
    launch(request, worker);
  }
}

// The kernel gives up everything that is under way in a ring, if asked. Requests that were not meant are attempted again there,
// once for each cancellation. A signal that reaches a worker in a ring may end requests in the same way without a cancellation.
// Those are attempted by a system call, whose answer is final, since a device may give that error itself.
bool Dispatcher::again_after_cancel(Request& request, int worker) const noexcept {
  if (given_up(request)) {
    return false;
  }
  const auto now = static_cast<std::uint8_t>(cancellations_.load(std::memory_order_acquire));
  if (request.interruption != now) {
    request.interruption = now;
    return true;
  }
  const bool from_ring = worker >= 0 && !request.on_threads;
  request.on_threads = true;
  return from_ring;
}

void Dispatcher::cancel_kept() noexcept {
  cancellations_.fetch_add(1, std::memory_order_seq_cst);
  for (std::size_t i = 0; i < std::size_t{device::most_devices} * lanes; ++i) {
    if (RequestLane* lane = lanes_[i].load(std::memory_order_acquire)) {
      RequestQueue cancelled = lane->take_cancelled();
      while (Request* request = cancelled.pop()) {
        finish_unadmitted(*request, -1);
      }
    }
  }
}

bool Dispatcher::cancelled_since_asked(unsigned worker) noexcept {
  const std::uint64_t now = cancellations_.load(std::memory_order_acquire);
  return std::exchange(counts_[worker].cancellations_seen, now) != now;
}

void Dispatcher::finish_unadmitted(Request& request, int worker) noexcept {
  request.error = ECANCELED;
  trace_end(request);
  deliver(request, worker);
}

void Dispatcher::finish(Request& request, int worker) noexcept {
  RequestQueue startable;
  leave_lane(request, startable);
  start_all(startable, worker);
  deliver(request, worker);
}

void Dispatcher::start_all(RequestQueue& admitted, int worker) noexcept {
  while (Request* request = admitted.pop()) {
    if (request->file == nullptr || request->file->leads_here(request->descriptor)) [[likely]] {
      launch(*request, worker);
    } else {
      request->error = EBADF;
      leave_lane(*request, admitted);
      deliver(*request, worker);
    }
  }
}

// Adds those to `startable` that may start now.
void Dispatcher::leave_lane(const Request& request, RequestQueue& startable) noexcept {
  if (request.lane < lanes) {
    trace_end(request);
    RequestQueue next = lane_for(*request.device, request.lane).leave(request);
    while (Request* waiter = next.pop()) {
      startable.push(*waiter);
    }
  }
}

void Dispatcher::deliver(Request& request, int worker) noexcept {
  request.ended(request);
  count_delivered(worker);
}

void Dispatcher::count_delivered(int worker) noexcept {
  if (worker < 0) {
    delivered_elsewhere_.fetch_add(1, std::memory_order_release);
    return;
  }
  Counts& counts = counts_[static_cast<unsigned>(worker)];
  counts.delivered.store(counts.delivered.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

std::size_t Dispatcher::requests_in_flight() const noexcept {
  // The delivered ones are read first: a request that ends in between is counted once too often, never too seldom.
  std::uint64_t delivered = delivered_elsewhere_.load(std::memory_order_acquire);
  for (unsigned worker = 0; worker < workers_; ++worker) {
    delivered += counts_[worker].delivered.load(std::memory_order_acquire);
  }
  return handed_over() - delivered;
}

std::uint64_t Dispatcher::handed_over() const noexcept {
  std::uint64_t begun = 0;
  for (unsigned worker = 0; worker < workers_; ++worker) {
    begun += counts_[worker].begun.load(std::memory_order_acquire);
  }
  return begun;
}

}  // namespace dovetail::storage
