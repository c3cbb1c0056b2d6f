#include "storage/storage_service.hpp"

#include <pthread.h>

#include <cstdlib>
#include <stdexcept>

#include "base/clock.hpp"
#include "storage/open_file.hpp"
#include "storage/threads_engine.hpp"
#include "trace/trace.hpp"

namespace dovetail::storage {
namespace {

const char service_key = 0;

thread_local constinit StorageService::Here this_thread{};
// Set in the child of a fork: the workers are gone, and the rings belong to the parent.
thread_local constinit bool forked = false;

const bool registered = [] {
  pthread_atfork(nullptr, nullptr, [] { forked = true; });
  return tasking::register_service(&service_key,
                                   [](detail::RuntimeCore& core, const Options& options, unsigned workers) {
                                     return std::make_unique<StorageService>(core, options.engine, workers);
                                   });
}();

std::array<Route, Learner::candidates> forced(Route route) noexcept { return {route, route, route}; }

}  // namespace

StorageService::Choice StorageService::parse(const std::string& engine) {
  if (engine.empty() || engine == "auto") {
    return Choice::automatic;
  }
  if (engine == "uring") {
    return Choice::uring;
  }
  if (engine == "threads") {
    return Choice::threads;
  }
  throw std::invalid_argument("unknown storage engine \"" + engine +
                              "\" (Options::engine or DOVETAIL_ENGINE): use \"auto\", \"uring\" or \"threads\"");
}

StorageService::StorageService(detail::RuntimeCore& core, const std::string& engine, unsigned workers)
    : choice_(parse(engine)),
      workers_(workers),
      parking_(workers),
      uring_(*this, parking_, workers),
      threads_(std::make_unique<ThreadsEngine>(core)),
      ring_path_(&uring_),
      threads_path_(threads_.get()),
      counts_(std::make_unique<Counts[]>(workers)),
      lanes_(std::make_unique<std::atomic<RequestLane*>[]>(std::size_t{most_devices} * lanes)) {
  if (choice_ == Choice::uring) {
    std::string why_not;
    if (Ring::make(why_not) == nullptr) {
      throw std::invalid_argument(
          "the storage engine \"uring\" was asked for (Options::engine or DOVETAIL_ENGINE) but " + why_not +
          "; use \"auto\" or \"threads\"");
    }
  }
}

StorageService::~StorageService() {
  for (std::size_t i = 0; i < std::size_t{most_devices} * lanes; ++i) {
    delete lanes_[i].load(std::memory_order_relaxed);
  }
}

StorageService* StorageService::of(detail::RuntimeCore& core) noexcept {
  return static_cast<StorageService*>(tasking::find_service(core, &service_key));
}

// Not inlined: a task may have moved to another thread since the caller last looked.
__attribute__((noinline)) StorageService::Here StorageService::here() noexcept { return forked ? Here{} : this_thread; }

void StorageService::thread_started(int worker) {
  if (worker >= 0) {
    this_thread = {this, worker};
  }
}

void StorageService::thread_stopping(int /*worker*/) { this_thread = {}; }

RequestLane& StorageService::lane_for(Device& device, Lane lane) {
  std::atomic<RequestLane*>& place = lanes_[std::size_t{device.index} * lanes + lane];
  if (RequestLane* made = place.load(std::memory_order_acquire)) [[likely]] {
    return *made;
  }
  const std::lock_guard lock(making_);
  RequestLane* made = place.load(std::memory_order_relaxed);
  if (made == nullptr) {
    std::array<Route, Learner::candidates> routes = routes_of(lane);
    if (choice_ == Choice::threads) {
      routes = forced({true, 64});
    } else if (choice_ == Choice::uring) {
      routes = forced(routes[0]);
    }
    made = new RequestLane(device, lane, routes, choice_ != Choice::automatic);
    place.store(made, std::memory_order_release);
  }
  return *made;
}

void StorageService::launch(Request& request, int worker) noexcept {
  const bool ring = !request.on_threads && worker >= 0 && choice_ != Choice::threads &&
                    uring_.prepare_worker(static_cast<unsigned>(worker));
  (ring ? ring_path_ : threads_path_)->submit(request, worker);
}

void StorageService::count_begun(Request& request, int worker) noexcept {
  request.service = this;
  Counts& counts = counts_[static_cast<unsigned>(worker)];
  counts.begun.store(counts.begun.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

void StorageService::finish_early(Request& request, int worker) noexcept {
  request.ended(request);
  count_delivered(worker);
}

void StorageService::dispatch(Request& request, Device* device, int worker) noexcept {
  plan_attempt(request);
  if (device == nullptr) {
    request.lane = lanes;
  } else {
    if (trace::enabled()) [[unlikely]] {
      const trace::Transfer direction = reads(request.kind)    ? trace::Transfer::read
                                        : writes(request.kind) ? trace::Transfer::write
                                                               : trace::Transfer::none;
      trace::io_submitted(
          trace::number_of(&request), direction, name_of(request.kind),
          request.file != nullptr ? std::string_view(request.file->path()) : std::string_view(request.path),
          request.remaining, transfers(request.kind) ? request.offset : 0);
    }
    request.device = device;
    if (!lane_for(*device, static_cast<Lane>(request.lane)).enter(request)) {
      return;
    }
  }
  launch(request, worker);
}

void StorageService::attempt_ended(Request& request, std::int64_t result, int worker) noexcept {
  if (attempt_done(request, result)) {
    launch(request, worker);
  } else {
    finish(request, worker);
  }
}

void StorageService::finish(Request& request, int worker) noexcept {
  if (request.lane < lanes) {
    if (trace::enabled()) [[unlikely]] {
      trace::io_completed(trace::number_of(&request), request.error != 0
                                                          ? -std::int64_t{request.error}
                                                          : static_cast<std::int64_t>(request.transferred));
    }
    RequestQueue next = lane_for(*request.device, static_cast<Lane>(request.lane)).leave(request);
    while (Request* waiter = next.pop()) {
      launch(*waiter, worker);
    }
  }
  request.ended(request);
  count_delivered(worker);
}

void StorageService::count_delivered(int worker) noexcept {
  if (worker < 0) {
    delivered_elsewhere_.fetch_add(1, std::memory_order_release);
    return;
  }
  Counts& counts = counts_[static_cast<unsigned>(worker)];
  counts.delivered.store(counts.delivered.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

std::size_t StorageService::in_flight() const noexcept {
  // What has been delivered is read first: a request that ends in between is counted once too often, never too seldom.
  std::uint64_t delivered = delivered_elsewhere_.load(std::memory_order_acquire);
  std::uint64_t begun = 0;
  for (unsigned worker = 0; worker < workers_; ++worker) {
    delivered += counts_[worker].delivered.load(std::memory_order_acquire);
  }
  for (unsigned worker = 0; worker < workers_; ++worker) {
    begun += counts_[worker].begun.load(std::memory_order_acquire);
  }
  return begun - delivered;
}

unsigned StorageService::poll(unsigned worker, tasking::PollScope scope) {
  return ring_path_->poll(worker, scope) + threads_path_->poll(worker, scope);
}

void StorageService::flush(unsigned worker) {
  ring_path_->flush(worker);
  threads_path_->flush(worker);
}

void StorageService::decorate(const Decorator& decorator) {
  decorations_[0] = decorator(*this, uring_);
  decorations_[1] = decorator(*this, *threads_);
  ring_path_ = decorations_[0].get();
  threads_path_ = decorations_[1].get();
}

std::string StorageService::why() const {
  if (choice_ == Choice::threads) {
    return "threads: asked for by Options::engine or DOVETAIL_ENGINE";
  }
  const std::string refused = uring_.why_not();
  if (!refused.empty()) {
    return "threads: " + refused;
  }
  return choice_ == Choice::uring ? "uring: asked for by Options::engine or DOVETAIL_ENGINE"
                                  : "auto: measured for each device and kind of request";
}

}  // namespace dovetail::storage
