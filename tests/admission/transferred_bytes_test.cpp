// What the kernel has counted for a thread.
#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <thread>

#include "admission/transferred_bytes.hpp"

namespace dovetail::admission::test {
namespace {

std::ptrdiff_t count_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

// Executors come and go.
TEST(TransferredBytes, AThreadThatEndsLeavesNoDescriptor) {
  const auto ask = [] { std::thread([] { EXPECT_TRUE(transferred_bytes().has_value()); }).join(); };
  ask();
  const std::ptrdiff_t before = count_descriptors();
  for (int i = 0; i < 10; ++i) {
    ask();
  }
  EXPECT_EQ(count_descriptors(), before);
}

}  // namespace
}  // namespace dovetail::admission::test
