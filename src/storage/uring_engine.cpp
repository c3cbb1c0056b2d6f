#include "storage/uring_engine.hpp"

#include "storage/storage_service.hpp"

namespace dovetail::storage {

UringEngine::UringEngine(StorageService& service, Parking& parking, unsigned workers)
    : service_(service),
      parking_(parking),
      workers_(workers),
      rings_(std::make_unique<std::unique_ptr<Ring>[]>(workers)) {}

bool UringEngine::make_ring(unsigned worker) noexcept {
  if (refused_.load(std::memory_order_relaxed)) {
    return false;
  }
  std::string reason;
  std::unique_ptr<Ring> made = Ring::make(reason);
  if (made != nullptr && !parking_.add_ring(worker, made.get())) {
    made.reset();
    reason = "eventfd: no descriptor left (RLIMIT_NOFILE is too small)";
  }
  if (made == nullptr) {
    const std::lock_guard lock(mutex_);
    why_not_ = reason;
    refused_.store(true, std::memory_order_relaxed);
    return false;
  }
  rings_[worker] = std::move(made);
  return true;
}

std::string UringEngine::why_not() const {
  const std::lock_guard lock(mutex_);
  return why_not_;
}

void UringEngine::submit(Request& request, int worker) noexcept {
  Ring& ring = *rings_[static_cast<unsigned>(worker)];
  const bool first = ring.gathered() == 0;
  ring.submit(request);
  if (first && ring.gathered() > 0) {
    tasking::request_flush();
  } else if (ring.gathered() == 0) {
    parking_.started_operations(static_cast<unsigned>(worker));
  }
}

void UringEngine::flush(unsigned worker) noexcept {
  Ring* ring = rings_[worker].get();
  if (ring != nullptr && ring->gathered() > 0) {
    ring->flush();
    parking_.started_operations(worker);
  }
}

unsigned UringEngine::take(Ring& ring, unsigned worker, bool owner) noexcept {
  // Taken in batches so that what is delivered may submit again without holding anything.
  constexpr unsigned most = 64;
  RingCompletion completions[most];
  const unsigned count = ring.take(completions, most, owner);
  for (unsigned i = 0; i < count; ++i) {
    service_.attempt_ended(*completions[i].request, completions[i].result, static_cast<int>(worker));
  }
  return count;
}

unsigned UringEngine::poll(unsigned worker, tasking::PollScope scope) noexcept {
  unsigned count = 0;
  if (Ring* own = rings_[worker].get()) {
    count += take(*own, worker, true);
    own->refill();
    if (own->gathered() > 0) {
      tasking::request_flush();
    }
  }
  if (scope == tasking::PollScope::all) {
    for (unsigned other = 0; other < workers_; ++other) {
      if (other != worker && parking_.looks_after(worker, other)) {
        count += take(*parking_.ring(other), worker, false);
      }
    }
  }
  return count;
}

}  // namespace dovetail::storage
