#include "storage/storage_service.hpp"

#include <pthread.h>

#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "storage/open_file.hpp"
#include "storage/request_trace.hpp"
#include "storage/system_calls.hpp"
#include "storage/threads_engine.hpp"
#include "tasking/pause.hpp"
#include "trace/trace.hpp"

namespace dovetail::storage {
namespace {

const char service_key = 0;

thread_local constinit StorageService::Here this_thread{};
// Set in the child of a fork: the workers are gone, and the rings belong to the parent.
thread_local constinit bool forked = false;

// Who cancels may be anywhere, and a runtime may end meanwhile: it is looked up here. The lock is held while its requests are
// ended, which may complete tasks and run what the program does then; that may cancel in turn.
struct Services {
  std::recursive_mutex mutex;
  std::vector<std::pair<const detail::RuntimeCore*, StorageService*>> all;
};

Services*& the_services() {
  static auto* made = new Services;
  return made;
}
Services& services() { return *the_services(); }

void cancel_in(const detail::RuntimeCore* core) noexcept {
  const std::lock_guard lock(services().mutex);
  for (std::size_t i = 0; i < services().all.size(); ++i) {
    if (services().all[i].first == core) {
      services().all[i].second->cancel();
      return;
    }
  }
}

const bool registered = [] {
  tasking::register_cancel_hook(cancel_in);
  pthread_atfork(nullptr, nullptr, [] {
    forked = true;
    the_services() = new Services;  // the other, and its lock, are the parent's
  });
  return tasking::register_service(&service_key,
                                   [](detail::RuntimeCore& core, const Options& options, unsigned workers) {
                                     return std::make_unique<StorageService>(core, options.engine, workers);
                                   });
}();

std::array<Route, Learner::candidates> forced(Route route) noexcept { return {route, route, route}; }

// Of the others, nothing is asynchronous in that engine.
bool goes_to_aio(Lane lane) noexcept { return lane >= direct_read_small; }

}  // namespace

StorageService::Choice StorageService::parse(const std::string& engine) {
  if (engine.empty() || engine == "auto") {
    return Choice::automatic;
  }
  if (engine == "uring") {
    return Choice::uring;
  }
  if (engine == "aio") {
    return Choice::aio;
  }
  if (engine == "threads") {
    return Choice::threads;
  }
  throw std::invalid_argument(
      "unknown storage engine \"" + engine +
      "\" (Options::engine or DOVETAIL_ENGINE): use \"auto\", \"uring\", \"aio\" or \"threads\"");
}

StorageService::StorageService(detail::RuntimeCore& core, const std::string& engine, unsigned workers)
    : choice_(parse(engine)),
      workers_(workers),
      parking_(workers),
      uring_("uring", *this, parking_, workers),
      aio_("aio", *this, parking_, workers),
      threads_(std::make_unique<ThreadsEngine>(core)),
      ring_path_(&uring_),
      aio_path_(&aio_),
      threads_path_(threads_.get()),
      counts_(std::make_unique<Counts[]>(workers)),
      lanes_(std::make_unique<std::atomic<RequestLane*>[]>(std::size_t{most_devices} * lanes)) {
  std::string why_not;
  if ((choice_ == Choice::uring && Ring::make(why_not) == nullptr) ||
      (choice_ == Choice::aio && AioQueue::make(why_not) == nullptr)) {
    throw std::invalid_argument("the storage engine \"" + engine +
                                "\" was asked for (Options::engine or DOVETAIL_ENGINE) but " + why_not +
                                "; use \"auto\" or \"threads\"");
  }
  const std::lock_guard lock(services().mutex);
  services().all.emplace_back(&core, this);
}

StorageService::~StorageService() {
  {
    const std::lock_guard lock(services().mutex);
    std::erase_if(services().all, [this](const auto& entry) { return entry.second == this; });
  }
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

RequestLane& StorageService::lane_for(LearnedDevice& device, Lane lane) {
  std::atomic<RequestLane*>& place = lanes_[std::size_t{device.index} * lanes + lane];
  if (RequestLane* made = place.load(std::memory_order_acquire)) [[likely]] {
    return *made;
  }
  const std::lock_guard lock(making_);
  RequestLane* made = place.load(std::memory_order_relaxed);
  if (made == nullptr) {
    std::array<Route, Learner::candidates> routes = routes_of(lane);
    if (choice_ == Choice::threads || (choice_ == Choice::aio && !goes_to_aio(lane))) {
      routes = forced({true, 64});
    } else if (choice_ != Choice::automatic) {
      routes = forced(routes[0]);
    }
    made = new RequestLane(device, lane, routes, choice_ != Choice::automatic);
    place.store(made, std::memory_order_release);
  }
  return *made;
}

Engine& StorageService::engine_for(const Request& request, int worker) noexcept {
  if (!request.on_threads && worker >= 0) {
    if ((choice_ == Choice::automatic || choice_ == Choice::uring) &&
        uring_.prepare_worker(static_cast<unsigned>(worker))) [[likely]] {
      return *ring_path_;
    }
    if (prepare_aio(request, static_cast<unsigned>(worker))) {
      return *aio_path_;
    }
  }
  return *threads_path_;
}

bool StorageService::prepare_aio(const Request& request, unsigned worker) noexcept {
  if ((choice_ != Choice::automatic && choice_ != Choice::aio) || !AioQueue::suits(request) ||
      !aio_.prepare_worker(worker)) {
    return false;
  }
  if (!aio_used_.load(std::memory_order_relaxed)) {
    aio_used_.store(true, std::memory_order_release);
  }
  return true;
}

void StorageService::count_begun(Request& request, int worker) noexcept {
  request.service = this;
  Counts& counts = counts_[static_cast<unsigned>(worker)];
  counts.begun.store(counts.begun.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

void StorageService::finish_early(Request& request, int worker) noexcept { deliver(request, worker); }

void StorageService::dispatch(Request& request, LearnedDevice* device, int worker) noexcept {
  plan_attempt(request);
  if (device == nullptr) {
    request.lane = lanes;
  } else {
    trace_begin(request);
    request.device = device;
    switch (lane_for(*device, static_cast<Lane>(request.lane)).enter(request)) {
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

void StorageService::attempt_ended(Request& request, std::int64_t result, int worker) noexcept {
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

// The kernel gives up everything that is under way in a ring, if asked. What was not meant is attempted again there, once for each
// time that somebody cancelled. A signal that reaches a worker in a ring may end requests in the same way though nobody
// cancelled: those are attempted by a system call, whose answer is believed, also if a device gives that error by itself.
bool StorageService::again_after_cancel(Request& request, int worker) const noexcept {
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

void StorageService::cancel() noexcept {
  cancellations_.fetch_add(1, std::memory_order_seq_cst);
  for (std::size_t i = 0; i < std::size_t{most_devices} * lanes; ++i) {
    if (RequestLane* lane = lanes_[i].load(std::memory_order_acquire)) {
      RequestQueue cancelled = lane->take_cancelled();
      while (Request* request = cancelled.pop()) {
        finish_unadmitted(*request, -1);
      }
    }
  }
  // What the system has, only the worker that submitted it can take back.
  for (unsigned worker = 0; worker < workers_; ++worker) {
    parking_.unpark(worker);
  }
}

void StorageService::finish_unadmitted(Request& request, int worker) noexcept {
  request.error = ECANCELED;
  trace_end(request);
  deliver(request, worker);
}

void StorageService::finish(Request& request, int worker) noexcept {
  RequestQueue startable;
  leave_lane(request, startable);
  start_all(startable, worker);
  deliver(request, worker);
}

void StorageService::start_all(RequestQueue& admitted, int worker) noexcept {
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
void StorageService::leave_lane(const Request& request, RequestQueue& startable) noexcept {
  if (request.lane < lanes) {
    trace_end(request);
    RequestQueue next = lane_for(*request.device, static_cast<Lane>(request.lane)).leave(request);
    while (Request* waiter = next.pop()) {
      startable.push(*waiter);
    }
  }
}

void StorageService::deliver(Request& request, int worker) noexcept {
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
  for (unsigned worker = 0; worker < workers_; ++worker) {
    delivered += counts_[worker].delivered.load(std::memory_order_acquire);
  }
  return handed_over() - delivered;
}

bool StorageService::has_in_flight(unsigned worker) const noexcept {
  return uring_.has_in_flight(worker) || aio_.has_in_flight(worker);
}

std::uint64_t StorageService::handed_over() const noexcept {
  std::uint64_t begun = 0;
  for (unsigned worker = 0; worker < workers_; ++worker) {
    begun += counts_[worker].begun.load(std::memory_order_acquire);
  }
  return begun;
}

// Threads need neither: they deliver by themselves.
unsigned StorageService::poll(unsigned worker, tasking::PollScope scope) {
  if (worker == no_worker) {
    parking_.answer();
    return 0;
  }
  Counts& counts = counts_[worker];
  if (counts.cancellations_seen != cancellations_.load(std::memory_order_acquire)) [[unlikely]] {
    counts.cancellations_seen = cancellations_.load(std::memory_order_acquire);
    ring_path_->cancel(worker);
  }
  unsigned count = ring_path_->poll(worker, scope);
  if (aio_used_.load(std::memory_order_acquire)) [[unlikely]] {
    count += aio_path_->poll(worker, scope);
  }
  return count;
}

void StorageService::flush(unsigned worker) {
  ring_path_->flush(worker);
  if (aio_used_.load(std::memory_order_acquire)) [[unlikely]] {
    aio_path_->flush(worker);
  }
}

void StorageService::decorate(const Decorator& decorator) {
  decorations_[0] = decorator(*this, uring_);
  decorations_[1] = decorator(*this, aio_);
  decorations_[2] = decorator(*this, *threads_);
  ring_path_ = decorations_[0].get();
  aio_path_ = decorations_[1].get();
  threads_path_ = decorations_[2].get();
}

std::string StorageService::why() const {
  const std::string no_ring = uring_.why_not();
  const std::string no_aio = aio_.why_not();
  switch (choice_) {
    case Choice::threads:
      return "threads: asked for by Options::engine or DOVETAIL_ENGINE";
    case Choice::uring:
      return no_ring.empty() ? "uring: asked for by Options::engine or DOVETAIL_ENGINE" : "threads: " + no_ring;
    case Choice::aio:
      return no_aio.empty() ? "aio: asked for by Options::engine or DOVETAIL_ENGINE; buffered transfers go to threads"
                            : "threads: " + no_aio;
    default:
      break;
  }
  if (no_ring.empty()) {
    return "auto: measured for each device and kind of request";
  }
  return no_aio.empty() ? "aio for direct transfers, threads for the others: " + no_ring
                        : "threads: " + no_ring + "; " + no_aio;
}

}  // namespace dovetail::storage
