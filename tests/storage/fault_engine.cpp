#include "fault_engine.hpp"

#include <algorithm>
#include <cerrno>

#include "storage/open_file.hpp"
#include "storage/system_calls.hpp"

namespace dovetail::test {
namespace {

using std::chrono::steady_clock;
using storage::Request;

void shorten(Request& request) noexcept {
  if (!storage::transfers(request.kind)) {
    return;
  }
  // Direct attempts stay whole blocks, as those of a device do.
  const bool direct = request.file != nullptr && request.descriptor == request.file->direct_descriptor();
  const std::uint32_t unit =
      direct && !storage::vectored(storage::attempt_of(request).kind) ? request.file->block_size() : 1;
  request.attempt = std::max(std::min(unit, request.attempt), request.attempt / 2 / unit * unit);
}

}  // namespace

bool RandomFaults::happens(double probability) {
  return probability > 0 && std::uniform_real_distribution<>(0, 1)(random_) < probability;
}

Fault RandomFaults::next(const Request& request) {
  const base::LockGuard lock(mutex_);
  Fault fault;
  if (storage::transfers(request.kind)) {
    if (happens(rates_.error)) {
      fault.error = rates_.error_number;
    } else if (happens(rates_.interrupt)) {
      fault.error = happens(0.5) ? EINTR : EAGAIN;
    }
    fault.shorten = happens(rates_.shorten);
  }
  if (happens(rates_.delay)) {
    fault.delay = std::chrono::microseconds(
        std::uniform_int_distribution<std::chrono::microseconds::rep>(1, rates_.longest.count())(random_));
  }
  return fault;
}

void FaultEngine::install(const std::shared_ptr<FaultPlan>& plan) {
  storage::StorageService::decorate_next = [plan](storage::StorageService& service, storage::Engine& inner) {
    return std::make_unique<FaultEngine>(service, inner, plan);
  };
}

FaultEngine::FaultEngine(storage::Dispatcher& dispatcher, storage::Engine& inner, std::shared_ptr<FaultPlan> plan)
    : dispatcher_(dispatcher), inner_(inner), plan_(std::move(plan)), thread_([this] { run(); }) {}

FaultEngine::~FaultEngine() {
  {
    const base::LockGuard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void FaultEngine::submit(Request& request, int worker) noexcept {
  const Fault fault = plan_->next(request);
  if (fault.error == 0 && fault.shorten) {
    shorten(request);
  }
  if (fault.error == 0 && fault.delay.count() == 0) {
    inner_.submit(request, worker);
    return;
  }
  // Told under the lock: once the request has ended, the engine may go.
  const base::LockGuard lock(mutex_);
  held_.push_back({&request, fault.error, steady_clock::now() + fault.delay});
  changed_.notify_one();
}

void FaultEngine::run() {
  base::UniqueLock lock(mutex_);
  for (;;) {
    const auto first =
        std::min_element(held_.begin(), held_.end(), [](const Held& a, const Held& b) { return a.due < b.due; });
    if (first == held_.end()) {
      if (stopping_) {
        return;
      }
      changed_.wait(lock);
    } else if (first->due > steady_clock::now()) {
      const auto due = first->due;  // the list may move while this waits
      changed_.wait_until(lock, due);
    } else {
      const Held held = *first;
      held_.erase(first);
      lock.unlock();
      dispatcher_.attempt_ended(*held.request, held.error != 0 ? -held.error : storage::call_system(*held.request), -1);
      lock.lock();
    }
  }
}

}  // namespace dovetail::test
