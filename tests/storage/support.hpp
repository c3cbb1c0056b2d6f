// What the tests of storage share.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "base/random_bytes.hpp"
#include "device/support.hpp"
#include "dovetail/dovetail.hpp"
#include "storage/aio_queue.hpp"
#include "storage/ring.hpp"

namespace dovetail::test {

/// Less work where a sanitizer makes everything slow.
inline std::size_t scaled(std::size_t full, std::size_t small) {
  const char* scale = std::getenv("DOVETAIL_TEST_SCALE");
  return scale != nullptr && std::string(scale) == "small" ? small : full;
}

inline bool ring_available() {
  std::string why;
  return storage::Ring::make(why) != nullptr;
}

inline bool aio_available() {
  std::string why;
  return storage::AioQueue::make(why) != nullptr;
}

/// The cause of a failed task as an IoError; ends the test if it is something else.
inline IoError io_error_of(const TaskFailed& failure) {
  try {
    std::rethrow_exception(failure.cause());
  } catch (const IoError& error) {
    return error;
  }
}

/// Tests that take the name of the engine as their parameter.
class EngineTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::string(GetParam()) == "uring" && !ring_available()) {
      GTEST_SKIP() << "no io_uring here";
    }
    if (std::string(GetParam()) == "aio" && !aio_available()) {
      GTEST_SKIP() << "no asynchronous I/O of Linux here";
    }
  }
  Options options(unsigned workers = 2) const {
    Options made;
    made.workers = workers;
    made.engine = GetParam();
    return made;
  }
  Folder folder_;
};

#define DOVETAIL_FOR_EACH_ENGINE(suite)                                                        \
  INSTANTIATE_TEST_SUITE_P(Engines, suite, testing::Values("uring", "aio", "threads", "auto"), \
                           [](const auto& engine) { return std::string(engine.param); })

}  // namespace dovetail::test
