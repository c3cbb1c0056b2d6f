// Sleeping on a word.
#include "tasking/futex.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/clock.hpp"

namespace dovetail::tasking::test {
namespace {

TEST(FutexTest, ASleepEndsAtItsTime) {
  std::atomic<std::uint32_t> word{1};
  const base::TimePoint deadline = base::Clock::now() + std::chrono::milliseconds(2);
  while (base::Clock::now() < deadline) {  // a signal may end it earlier
    futex_wait(word, 1, deadline);
  }
}

TEST(FutexTest, ASleepWithoutALimitEndsByAWakeUp) {
  std::atomic<std::uint32_t> word{1};
  std::thread sleeper([&word] {
    while (word.load() == 1) {
      futex_wait(word, 1, base::TimePoint::max());
    }
  });
  word.store(2);
  futex_wake(word);
  sleeper.join();
}

TEST(FutexTest, NobodySleepsOnAWordThatHasChanged) {
  std::atomic<std::uint32_t> word{2};
  futex_wait(word, 1, base::TimePoint::max());
}

}  // namespace
}  // namespace dovetail::tasking::test
