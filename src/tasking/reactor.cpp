#include "tasking/reactor.hpp"

#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "tasking/context.hpp"
#include "tasking/core.hpp"
#include "tasking/worker.hpp"

namespace dovetail::tasking {
namespace {

constexpr std::chrono::seconds between_upkeeps{1};

}  // namespace

Reactor::Reactor(RuntimeCore& core) : core_(core) {}

Reactor::~Reactor() {
  stop();
  for (const int descriptor : {timer_, end_}) {
    if (descriptor >= 0) {
      close(descriptor);
    }
  }
}

bool Reactor::make_descriptors() noexcept {
  timer_ = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  end_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  // Each expiry is told once, and need not be read.
  if (timer_ >= 0 && end_ >= 0 && descriptors_.start() && descriptors_.add_own(timer_, EPOLLIN | EPOLLET) &&
      descriptors_.add_own(end_, EPOLLIN)) {
    return true;
  }
  for (int* descriptor : {&timer_, &end_}) {
    if (*descriptor >= 0) {
      close(std::exchange(*descriptor, -1));
    }
  }
  return false;
}

void Reactor::start() {
  if (!make_descriptors()) {
    descriptors_.give_up();
  }
  thread_ = std::thread(&Reactor::run, this);
}

void Reactor::stop() noexcept {
  if (!thread_.joinable()) {
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  if (end_ >= 0) {
    eventfd_write(end_, 1);
  } else {
    armed_anew_.notify_one();
  }
  thread_.join();
}

void Reactor::wake_at(base::TimePoint deadline, Task* task) {
  if (timers_.wake_at(deadline, task)) {
    arm(deadline);
  }
}

void Reactor::call_at(base::TimePoint deadline, std::function<void()> action) {
  if (timers_.call_at(deadline, std::move(action))) {
    arm(deadline);
  }
}

void Reactor::expect_upkeep() noexcept {
  const base::TimePoint when = base::Clock::now() + between_upkeeps;
  upkeep_.store(when.time_since_epoch().count(), std::memory_order_relaxed);
  arm(when);
}

// The kernel's timer is set to the earliest deadline that anybody has named since the thread last woke. What workers have done
// meanwhile makes it wake in vain.
void Reactor::arm(base::TimePoint when) noexcept {
  const std::lock_guard lock(mutex_);
  if (when >= armed_) {
    return;
  }
  armed_ = when;
  if (timer_ < 0) {
    armed_anew_.notify_one();
    return;
  }
  // The steady clock is CLOCK_MONOTONIC. All zero would switch the timer off.
  const std::int64_t nanoseconds =
      std::max<std::int64_t>(1, std::chrono::duration_cast<std::chrono::nanoseconds>(when.time_since_epoch()).count());
  itimerspec setting{};
  setting.it_value = {nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
  timerfd_settime(timer_, TFD_TIMER_ABSTIME, &setting, nullptr);
}

void Reactor::sleep_without_descriptors() noexcept {
  std::unique_lock lock(mutex_);
  while (!ended_ && base::Clock::now() < armed_) {
    if (armed_ == base::TimePoint::max()) {
      armed_anew_.wait(lock);
    } else {
      armed_anew_.wait_until(lock, base::TimePoint(armed_));
    }
  }
}

void Reactor::run() noexcept {
  pthread_setname_np(pthread_self(), "dovetail-events");
  context() = {&core_, nullptr, nullptr, nullptr};
  for (;;) {
    if (timer_ >= 0) {
      descriptors_.wait();
    } else {
      sleep_without_descriptors();
    }
    core_.rest_if_abandoned();
    {
      const std::lock_guard lock(mutex_);
      if (ended_) {
        break;
      }
      armed_ = base::TimePoint::max();
    }
    timers_.run_due();
    tend();
    const base::TimePoint upkeep{base::Clock::duration(upkeep_.load(std::memory_order_relaxed))};
    if (const base::TimePoint next = std::min(timers_.earliest(), upkeep); next != base::TimePoint::max()) {
      arm(next);
    }
  }
  context() = {};
}

void Reactor::tend() noexcept {
  const base::Clock::rep due = upkeep_.load(std::memory_order_relaxed);
  if (base::Clock::now().time_since_epoch().count() < due) {
    return;
  }
  upkeep_.store(base::TimePoint::max().time_since_epoch().count(), std::memory_order_relaxed);
  if (core_.fibers.give_back_surplus()) {
    expect_upkeep();
  }
  for (const auto& worker : core_.workers) {
    worker->leave_fibers();
  }
}

}  // namespace dovetail::tasking
