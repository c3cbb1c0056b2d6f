#include "tasking/polled_services.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "base/mutex.hpp"
#include "tasking/idle_workers.hpp"
#include "tasking/reactor.hpp"
#include "tasking/service.hpp"

namespace dovetail::tasking {
namespace {

// Between two polls of a service whose descriptor could not be watched.
constexpr std::chrono::microseconds unwatched_interval{500};
// A service that wants to be polled all the time gets that of workers between two bodies. The thread that keeps time sleeps in between.
constexpr std::chrono::nanoseconds shortest_sleep{20'000};
// How late the thread that keeps time comes, so that workers that come by poll instead. Waking it may cost the worker's own core 25 us. As late
// as the interval is long, up to this; while workers poll, later and later. When they stop, it takes so long to notice.
constexpr std::chrono::microseconds usual_postponement{1000};
constexpr std::chrono::microseconds longest_postponement{4000};

// In ticks. A service that is not polled by the clock is never due.
std::uint64_t ticks_after(std::chrono::nanoseconds interval) noexcept {
  return interval == std::chrono::nanoseconds::max()
             ? ~std::uint64_t{0}
             : base::ticks() + static_cast<std::uint64_t>(interval.count()) * base::ticks_per_microsecond() / 1000;
}

}  // namespace

struct PolledServices::Entry : std::enable_shared_from_this<Entry> {
  Entry(Reactor& keeps_time, Service& polled) : reactor(keeps_time), service(polled) {}

  void poll_if_due() noexcept {
    if (armed.load(std::memory_order_relaxed) && service.in_flight() > 0 &&
        base::ticks() >= due.load(std::memory_order_relaxed)) {
      poll();
    } else {
      arm_if_needed();
    }
  }

  void arm_if_needed() noexcept {
    if (service.in_flight() > 0 && !armed.load(std::memory_order_seq_cst) &&
        !armed.exchange(true, std::memory_order_seq_cst)) {
      arm();
    }
  }

  // The thread that keeps time leaves it to workers that come by in time.
  void poll() noexcept {
    service.poll(Service::no_worker, PollScope::all);
    due.store(ticks_after(service.poll_interval()), std::memory_order_relaxed);
  }

  std::chrono::nanoseconds postponed() const noexcept {
    return std::chrono::nanoseconds(postponed_by.load(std::memory_order_relaxed));
  }
  void set_postponed(std::chrono::nanoseconds by) noexcept {
    postponed_by.store(by.count(), std::memory_order_relaxed);
  }

  // The worker that polled sleeps now.
  void before_sleep() noexcept {
    arm_if_needed();
    if (armed.load(std::memory_order_relaxed) && postponed_by.exchange(0, std::memory_order_relaxed) != 0 &&
        take_timer_back()) {
      arm();
    }
  }

  bool take_timer_back() noexcept {
    const base::LockGuard lock(mutex);
    return reactor.cancel(timer);
  }

  void arm() {
    std::chrono::nanoseconds interval = service.poll_interval();
    if (service.descriptor() >= 0 && !watch()) {
      interval = std::min<std::chrono::nanoseconds>(interval, unwatched_interval);
    }
    const std::uint64_t planned = ticks_after(interval);
    due.store(planned, std::memory_order_relaxed);
    if (interval != std::chrono::nanoseconds::max()) {
      const auto usual = std::min<std::chrono::nanoseconds>(interval, usual_postponement);
      const base::TimePoint when =
          base::Clock::now() + std::max(interval, shortest_sleep) + std::max(usual, postponed());
      const base::LockGuard lock(mutex);
      timer = reactor.call_at(when, [self = shared_from_this(), planned] {
        if (self->due.load(std::memory_order_relaxed) == planned) {
          self->set_postponed({});
          self->poll();
        } else {  // workers poll it
          self->set_postponed(
              std::clamp<std::chrono::nanoseconds>(2 * self->postponed(), usual_postponement, longest_postponement));
        }
        self->timer_ended();
      });
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
      self->poll();
      self->event_ended();
    };
    if (reactor.watch(wait) == 0) {
      return true;
    }
    watched.store(false, std::memory_order_seq_cst);
    return false;
  }

  // The thread that ends the timer, by running or by cancelling it, sets the next one or disarms. So there is one at a
  // time.
  void timer_ended() noexcept { service.in_flight() > 0 ? arm() : disarm(); }

  void event_ended() noexcept {
    const bool has_timer = service.poll_interval() != std::chrono::nanoseconds::max();
    if (!has_timer) {
      timer_ended();
    } else if (service.in_flight() > 0) {
      watch();
    } else if (take_timer_back()) {
      disarm();
    }
  }

  void disarm() noexcept {
    armed.store(false, std::memory_order_seq_cst);
    arm_if_needed();  // something may have begun meanwhile
  }

  Reactor& reactor;
  Service& service;
  std::atomic<bool> armed{false};                              ///< It is going to be polled.
  std::atomic<std::uint64_t> due{0};                           ///< In ticks: when a worker that comes by should poll.
  std::atomic<bool> watched{false};                            ///< Its descriptor is waited for.
  std::atomic<std::chrono::nanoseconds::rep> postponed_by{0};  ///< The thread that keeps time comes so late.
  base::Mutex mutex;
  Timers::Id timer GUARDED_BY(mutex);  ///< The one that there is while it is armed and polled by the clock.
};

struct PolledServices::Parking : std::enable_shared_from_this<Parking> {
  static constexpr std::chrono::milliseconds shortest_interval{1};
  static constexpr std::chrono::milliseconds longest_interval{8};

  Parking(Reactor& keeps_time, IdleWorkers& of, std::size_t number, Service& parking)
      : reactor(keeps_time), idle(of), workers(number), service(parking) {}

  void expect_completions() noexcept {
    if (service.descriptor() < 0) {
      return;  // no worker has begun anything
    }
    watch();
    reactor.expect(Reactor::Upkeep::services, base::Clock::now() + interval.load(std::memory_order_relaxed));
  }

  // Once for each time that it is ready, and then again for as long as a worker sleeps. While none does, none needs to be woken.
  void watch() {
    if (watched.load(std::memory_order_relaxed) || watched.exchange(true, std::memory_order_seq_cst)) {
      return;
    }
    auto wait = std::make_shared<DescriptorWait>();
    wait->descriptor = service.descriptor();
    wait->events = EPOLLIN;
    wait->ready = [self = shared_from_this()] {
      self->service.poll(Service::no_worker, PollScope::all);
      self->watched.store(false, std::memory_order_seq_cst);
      self->idle.wake_one();
      if (self->idle.count() > 0) {
        self->watch();  // the one that was woken may compute soon, too
      }
    };
    if (reactor.watch(wait) != 0) {
      watched.store(false, std::memory_order_seq_cst);
    }
  }

  base::TimePoint look_after() noexcept {
    if (idle.count() == 0) {
      return base::TimePoint::max();  // the worker that sleeps next says so
    }
    if (service.in_flight() == 0) {
      // A worker says so when it begins operations, but not for each one.
      return some_have_operations() ? base::Clock::now() + longest_interval : base::TimePoint::max();
    }
    const auto next = service.look_after() ? shortest_interval : std::min(2 * interval.load(), longest_interval);
    interval.store(next, std::memory_order_relaxed);
    return base::Clock::now() + next;
  }

  // Those that push with a fence, and are awake.
  bool some_have_operations() const noexcept { return idle.pushing_without_fence() + idle.count() < workers; }

  Reactor& reactor;
  IdleWorkers& idle;
  const std::size_t workers;
  Service& service;
  std::atomic<bool> watched{false};  ///< Its descriptor is waited for.
  std::atomic<std::chrono::milliseconds> interval{shortest_interval};
};

void PolledServices::add_parking(Reactor& reactor, IdleWorkers& idle, std::size_t workers, Service& service) {
  parking_ = std::make_shared<Parking>(reactor, idle, workers, service);
}

void PolledServices::before_sleep() noexcept {
  if (begun_.load(std::memory_order_relaxed)) {
    for (const auto& entry : entries_) {
      entry->before_sleep();
    }
  }
  operations_begin();
}

void PolledServices::operations_begin() noexcept {
  if (parking_ != nullptr) {
    parking_->expect_completions();
  }
}

base::TimePoint PolledServices::look_after() noexcept {
  return parking_ != nullptr ? parking_->look_after() : base::TimePoint::max();
}

void PolledServices::add(Reactor& reactor, Service& service) {
  entries_.push_back(std::make_shared<Entry>(reactor, service));
  if (!service.on_demand()) {
    begun_.store(true, std::memory_order_relaxed);
  }
}

void PolledServices::begin() noexcept {
  if (!begun_.load(std::memory_order_relaxed)) {
    begun_.store(true, std::memory_order_relaxed);
  }
  arm_each();
}

void PolledServices::poll_those_due() noexcept {
  for (const auto& entry : entries_) {
    entry->poll_if_due();
  }
}

void PolledServices::postpone() noexcept {
  for (const auto& entry : entries_) {
    entry->due.store(ticks_after(entry->service.poll_interval()), std::memory_order_relaxed);
  }
}

void PolledServices::arm_each() noexcept {
  for (const auto& entry : entries_) {
    entry->arm_if_needed();
  }
}

}  // namespace dovetail::tasking
