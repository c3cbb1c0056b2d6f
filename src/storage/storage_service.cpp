#include "storage/storage_service.hpp"

#include <pthread.h>

#include <stdexcept>
#include <utility>
#include <vector>

#include "base/recursive_mutex.hpp"

namespace dovetail::storage {
namespace {

const char service_key = 0;

thread_local constinit StorageService::Here this_thread{};
// Set in the child of a fork: the workers are gone, and the rings belong to the parent.
thread_local constinit bool forked = false;

// Any thread may cancel, and a runtime may end meanwhile: it is looked up here. The lock is held while its requests are
// ended, which may complete tasks and run what the program does then; that may cancel in turn.
struct Services {
  base::RecursiveMutex mutex;
  std::vector<std::pair<const detail::RuntimeCore*, StorageService*>> all GUARDED_BY(mutex);
};

Services*& the_services() {
  static auto* made = new Services;
  return made;
}
Services& services() { return *the_services(); }

void cancel_in(const detail::RuntimeCore* core) noexcept {
  Services& known = services();
  const base::LockGuard lock(known.mutex);
  for (std::size_t i = 0; i < known.all.size(); ++i) {
    if (known.all[i].first == core) {
      known.all[i].second->cancel();
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

EngineChoice parse(const std::string& engine) {
  if (engine.empty() || engine == "auto") {
    return EngineChoice::automatic;
  }
  if (engine == "uring") {
    return EngineChoice::uring;
  }
  if (engine == "aio") {
    return EngineChoice::aio;
  }
  if (engine == "threads") {
    return EngineChoice::threads;
  }
  throw std::invalid_argument(
      "unknown storage engine \"" + engine +
      "\" (Options::engine or DOVETAIL_ENGINE): use \"auto\", \"uring\", \"aio\" or \"threads\"");
}

}  // namespace

StorageService::StorageService(detail::RuntimeCore& core, const std::string& engine, unsigned workers)
    : Dispatcher(parse(engine), workers),
      parking_(workers),
      known_folders_(workers),
      uring_(*this, parking_, workers),
      aio_(*this, parking_, workers),
      threads_(core) {
  if (decorate_next) [[unlikely]] {
    const Decorator decorator = std::exchange(decorate_next, {});
    decorations_[0] = decorator(*this, uring_);
    decorations_[1] = decorator(*this, aio_);
    decorations_[2] = decorator(*this, threads_);
    set_engines(*decorations_[0], *decorations_[1], *decorations_[2]);
    engine_is_given_ = true;
  } else {
    set_engines(uring_, aio_, threads_);
  }
  std::string why_not;
  if ((choice_ == EngineChoice::uring && Ring::make(why_not) == nullptr) ||
      (choice_ == EngineChoice::aio && AioQueue::make(why_not) == nullptr)) {
    throw std::invalid_argument("the storage engine \"" + engine +
                                "\" was asked for (Options::engine or DOVETAIL_ENGINE) but " + why_not +
                                "; use \"auto\" or \"threads\"");
  }
  Services& known = services();
  const base::LockGuard lock(known.mutex);
  known.all.emplace_back(&core, this);
}

StorageService::~StorageService() {
  Services& known = services();
  const base::LockGuard lock(known.mutex);
  std::erase_if(known.all, [this](const auto& entry) { return entry.second == this; });
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

void StorageService::cancel() noexcept {
  cancel_kept();
  // Only the worker that submitted a request can take it back from the system.
  for (unsigned worker = 0; worker < workers_; ++worker) {
    parking_.unpark(worker);
  }
}

bool StorageService::has_in_flight(unsigned worker) const noexcept {
  return uring_.has_in_flight(worker) || aio_.has_in_flight(worker);
}

// Threads need neither: they deliver by themselves.
unsigned StorageService::poll(unsigned worker, tasking::PollScope scope) {
  if (worker == no_worker) {
    parking_.answer();
    return 0;
  }
  if (cancelled_since_asked(worker)) [[unlikely]] {
    ring().cancel(worker);
  }
  unsigned count = ring().poll(worker, scope);
  if (Engine* const aio = used_aio()) [[unlikely]] {
    count += aio->poll(worker, scope);
  }
  return count;
}

void StorageService::flush(unsigned worker) {
  ring().flush(worker);
  if (Engine* const aio = used_aio()) [[unlikely]] {
    aio->flush(worker);
  }
}

std::string StorageService::why() const {
  const std::string no_ring = uring_.why_not();
  const std::string no_aio = aio_.why_not();
  switch (choice_) {
    case EngineChoice::threads:
      return "threads: asked for by Options::engine or DOVETAIL_ENGINE";
    case EngineChoice::uring:
      return no_ring.empty() ? "uring: asked for by Options::engine or DOVETAIL_ENGINE" : "threads: " + no_ring;
    case EngineChoice::aio:
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
