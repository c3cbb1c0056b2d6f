// One thread.
#include "base/clock.hpp"

#include <gtest/gtest.h>
#include <sys/time.h>

#include <algorithm>
#include <csignal>
#include <vector>

namespace dovetail::base {
namespace {

TEST(ClockTest, TicksGoForward) {
  const std::uint64_t begin = ticks();
  const TimePoint until = Clock::now() + std::chrono::milliseconds(1);
  while (Clock::now() < until) {
  }
  EXPECT_GT(ticks(), begin);
}

// For as long as it lives, a signal takes the processor away for half as long as a measurement takes, every 100 us.
class Interruptions {
 public:
  Interruptions() {
    struct sigaction action{};
    action.sa_handler = [](int) {
      const TimePoint until = Clock::now() + std::chrono::microseconds(10);
      while (Clock::now() < until) {
      }
    };
    sigaction(SIGALRM, &action, &before_);
    const itimerval often{{0, 100}, {0, 100}};
    setitimer(ITIMER_REAL, &often, nullptr);
  }
  Interruptions(const Interruptions&) = delete;
  Interruptions& operator=(const Interruptions&) = delete;
  ~Interruptions() {
    const itimerval never{};
    setitimer(ITIMER_REAL, &never, nullptr);
    sigaction(SIGALRM, &before_, nullptr);
  }

 private:
  struct sigaction before_{};
};

TEST(ClockTest, AnInterruptionDoesNotDistortTheRate) {
  std::vector<std::uint64_t> rates(20'000);
  {
    const Interruptions interruptions;
    std::generate(rates.begin(), rates.end(), measure_ticks_per_microsecond);
  }
  std::sort(rates.begin(), rates.end());
  const std::uint64_t usual = rates[rates.size() / 2];
  EXPECT_GE(rates.front(), usual - usual / 5);
  EXPECT_LE(rates.back(), usual + usual / 5);
}

TEST(ClockTest, TheRateIsMeasuredOnce) {
  const std::uint64_t rate = ticks_per_microsecond();
  EXPECT_GE(rate, 1U);
  EXPECT_LT(rate, 100'000U) << "no clock ticks at 100 GHz";
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(ticks_per_microsecond(), rate);
  }
}

}  // namespace
}  // namespace dovetail::base
