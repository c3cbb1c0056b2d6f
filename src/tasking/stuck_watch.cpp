#include "tasking/stuck_watch.hpp"

#include <algorithm>
#include <utility>

namespace dovetail::tasking {
namespace {
// A long wait is reported after a time, after twice that time, and so on.
constexpr unsigned most_doublings = 16;
}  // namespace

base::TimePoint StuckWatch::begin_or_go_on(std::atomic<base::Clock::rep>& since, base::TimePoint now) noexcept {
  base::Clock::rep begin = 0;
  const bool begins = since.compare_exchange_strong(begin, now.time_since_epoch().count(), std::memory_order_relaxed);
  return begins ? now : base::TimePoint(base::Clock::duration(begin));
}

unsigned StuckWatch::count_report_of_this_wait() noexcept {
  const unsigned reports = std::min(most_doublings, reports_of_this_wait_.fetch_add(1, std::memory_order_relaxed) + 1);
  reports_of_this_wait_.store(reports, std::memory_order_relaxed);
  return reports;
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
