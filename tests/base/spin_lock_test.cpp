#include "base/spin_lock.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

namespace dovetail::base {
namespace {

TEST(SpinLockTest, TryLock) {
  SpinLock lock;
  EXPECT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

TEST(SpinLockTest, ExcludesAndPublishes) {
  // More threads than processors: the holder loses its processor now and then.
  const char* scale = std::getenv("DOVETAIL_TEST_SCALE");
  const int rounds = scale != nullptr && std::string(scale) == "small" ? 5'000 : 50'000;
  SpinLock lock;
  long plain = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < rounds; ++i) {
        if (t % 2 == 0) {
          const std::lock_guard guard(lock);
          ++plain;
        } else {
          while (!lock.try_lock()) {
            std::this_thread::yield();
          }
          ++plain;
          lock.unlock();
        }
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(plain, 8L * rounds);
}

}  // namespace
}  // namespace dovetail::base
