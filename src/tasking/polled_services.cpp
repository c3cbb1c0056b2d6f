#include "tasking/polled_services.hpp"

#include <algorithm>

#include "tasking/core.hpp"
#include "tasking/service.hpp"

namespace dovetail::tasking {
namespace {

// Between two polls of a service whose descriptor could not be watched.
constexpr std::chrono::microseconds unwatched_interval{500};

}  // namespace

struct PolledServices::Entry : std::enable_shared_from_this<Entry> {
  Entry(RuntimeCore& of, Service& polled) : core(of), service(polled) {}

  void look() noexcept {
    if (service.in_flight() > 0 && !armed.exchange(true, std::memory_order_seq_cst)) {
      arm();
    }
  }

  void arm() {
    std::chrono::nanoseconds interval = service.poll_interval();
    if (service.descriptor() >= 0 && !watch()) {
      interval = std::min<std::chrono::nanoseconds>(interval, unwatched_interval);
    }
    if (interval != std::chrono::nanoseconds::max()) {
      core.reactor.call_at(base::Clock::now() + interval, [self = shared_from_this()] { self->run(true); });
    }
  }

  // Returns false if the system refuses, as when the process has no descriptor left.
  bool watch() {
    if (watched.exchange(true, std::memory_order_seq_cst)) {
      return true;
    }
    auto wait = std::make_shared<DescriptorWait>();
    wait->descriptor = service.descriptor();
    wait->events = EPOLLIN;
    wait->ready = [self = shared_from_this()] {
      self->watched.store(false, std::memory_order_seq_cst);
      self->run(false);
    };
    if (core.reactor.watch(wait) == 0) {
      return true;
    }
    watched.store(false, std::memory_order_seq_cst);
    return false;
  }

  void run(bool by_the_clock) noexcept {
    service.poll(Service::no_worker, PollScope::all);
    if (service.in_flight() == 0) {
      armed.store(false, std::memory_order_seq_cst);
      look();  // something may have begun meanwhile
    } else if (by_the_clock || service.poll_interval() == std::chrono::nanoseconds::max()) {
      arm();
    }
  }

  RuntimeCore& core;
  Service& service;
  std::atomic<bool> armed{false};    ///< It is going to be polled.
  std::atomic<bool> watched{false};  ///< Its descriptor is waited for.
};

void PolledServices::add(RuntimeCore& core, Service& service) {
  entries_.push_back(std::make_shared<Entry>(core, service));
}

void PolledServices::look_at_each() noexcept {
  for (const auto& entry : entries_) {
    entry->look();
  }
}

}  // namespace dovetail::tasking
