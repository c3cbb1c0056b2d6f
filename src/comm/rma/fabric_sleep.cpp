// How the thread of the fabric sleeps until there may be something to do, and how it is woken.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "base/clock.hpp"
#include "comm/rma/fabric.hpp"

namespace dovetail::comm::rma {
namespace {

constexpr int milliseconds_aside = 1;
constexpr int milliseconds_while_later = 1;
// What has moved lately is mostly followed by more, and a pause takes twice as long as it should.
constexpr std::chrono::microseconds looks_before_pause{100};
constexpr std::chrono::microseconds looks_while_busy{2000};
constexpr std::chrono::microseconds longest_pause{1000};
// A provider need not wake one thread for what another one has posted: so no sleep is longer while something is under way.
constexpr int milliseconds_while_under_way = 10;
constexpr long nanoseconds_per_millisecond = 1'000'000;

}  // namespace

bool Fabric::sleep() noexcept {
  pollfd own{bell_.get(), POLLIN, 0};
  if (is_progressed_elsewhere_.exchange(false, std::memory_order_relaxed)) {
    is_aside_.store(true, std::memory_order_seq_cst);
    poll(&own, 1, milliseconds_aside);
    is_aside_.store(false, std::memory_order_relaxed);
  } else {
    std::array<pollfd, 2> waiting{own, {-1, POLLIN, 0}};
    timespec limit{};
    bool is_until_woken = false;
    {
      const base::LockGuard lock(lock_);
      waiting[1].fd = endpoint_->descriptor();
      const std::chrono::microseconds looks = endpoint_->is_busy() ? looks_while_busy : looks_before_pause;
      if (waiting[1].fd < 0 && pause_.count() == 0 && base::Clock::now() < moved_at_ + looks) {
        std::this_thread::yield();
      } else if (waiting[1].fd < 0) {
        pause_ = std::clamp(2 * pause_, shortest_pause, longest_pause);
        limit.tv_nsec = std::chrono::nanoseconds(pause_).count();
      } else if (later_ > 0) {
        limit.tv_nsec = milliseconds_while_later * nanoseconds_per_millisecond;
      } else if (endpoint_->may_sleep()) {
        limit.tv_nsec = milliseconds_while_under_way * nanoseconds_per_millisecond;
        is_until_woken = under_way_ == 0;
      }
      sleeps_until_woken_ = is_until_woken;
    }
    ppoll(waiting.data(), waiting.size(), is_until_woken ? nullptr : &limit, nullptr);
    own = waiting[0];
    if (is_until_woken) {
      const base::LockGuard lock(lock_);
      sleeps_until_woken_ = false;
    }
  }
  if (own.revents != 0) {
    std::uint64_t rung = 0;
    [[maybe_unused]] const ssize_t taken = ::read(bell_.get(), &rung, sizeof rung);
  }
  return !is_progressed_elsewhere_.load(std::memory_order_relaxed);
}

void Fabric::wake() const noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(bell_.get(), &one, sizeof one);
}

void Fabric::hand_over() noexcept {
  is_progressed_elsewhere_.store(false, std::memory_order_relaxed);
  if (is_aside_.load(std::memory_order_seq_cst)) {
    wake();
  }
}

}  // namespace dovetail::comm::rma
