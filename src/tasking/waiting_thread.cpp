#include "tasking/waiting_thread.hpp"

#include <algorithm>

#include "tasking/service.hpp"

namespace dovetail::tasking {

WaitingThread::WaitingThread(RuntimeCore* core) noexcept
    : core_(core),
      interrupt_look_(interrupt_look_of_thread()),
      next_interrupt_look_(interrupt_look_ != nullptr ? base::Clock::now() + between_interrupt_looks
                                                      : base::TimePoint::max()) {}

// Asked each time: the first task that uses a service may come while this thread waits.
Service* WaitingThread::resident() const noexcept { return core_ != nullptr ? find_resident(*core_) : nullptr; }

base::TimePoint WaitingThread::next_look() const noexcept {
  Service* const service = resident();
  return service != nullptr ? std::min(next_interrupt_look_, service->next_poll()) : next_interrupt_look_;
}

bool WaitingThread::look() {
  if (Service* const service = resident()) {
    service->poll(Service::no_worker, PollScope::all);
  }
  if (interrupt_look_ == nullptr || base::Clock::now() < next_interrupt_look_) {
    return false;
  }
  next_interrupt_look_ = base::Clock::now() + between_interrupt_looks;
  return interrupt_look_();
}

}  // namespace dovetail::tasking
