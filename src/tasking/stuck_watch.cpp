#include "tasking/stuck_watch.hpp"

#include <utility>

namespace dovetail::tasking {

base::TimePoint StuckWatch::begin_or_go_on(std::atomic<base::Clock::rep>& since, base::TimePoint now) noexcept {
  base::Clock::rep begin = 0;
  const bool begins = since.compare_exchange_strong(begin, now.time_since_epoch().count(), std::memory_order_relaxed);
  return begins ? now : base::TimePoint(base::Clock::duration(begin));
}

std::string StuckWatch::report() const {
  const base::LockGuard lock(mutex_);
  return text_;
}

void StuckWatch::set_report(std::string text) {
  const base::LockGuard lock(mutex_);
  text_ = std::move(text);
}

}  // namespace dovetail::tasking
