// C++ tasks that call the C interface, and C tasks seen from C++.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <stdexcept>
#include <string>
#include <vector>

#include "dovetail/dovetail.h"
#include "dovetail/dovetail.hpp"

namespace {

constexpr int tasks = 2000;

// Tasks spawned from C++ do not say when they end. Their errors must neither mix nor be found by later tasks in the
// same memory, and those of ended tasks must go away.
TEST(Mixed, ErrorsOfCxxTasksFollowTheirTasks) {
  dovetail::Runtime runtime({.workers = 2});
  std::atomic<int> wrong{0};
  for (int i = 0; i < tasks; ++i) {
    runtime.spawn([i, &wrong] {
      wrong += dovetail_error_code() != 0;
      const std::string own = "error of task " + std::to_string(i) + ".";
      dovetail_error_set(-EIO, own.c_str());
      dovetail::this_task::yield();
      wrong += std::string(dovetail_error_message()).find(own) == std::string::npos;
    });
  }
  runtime.wait();
  EXPECT_EQ(wrong, 0);
}

TEST(Mixed, CxxExceptionsDoNotCrossTheBoundary) {
  dovetail_runtime* runtime = nullptr;
  ASSERT_EQ(dovetail_runtime_create(nullptr, &runtime), 0);
  const auto code_of = [&](dovetail_body body) {
    dovetail_task_description description{};
    description.size = sizeof description;
    description.body = body;
    description.label = "thrower";
    dovetail_future* future = nullptr;
    EXPECT_EQ(dovetail_runtime_spawn(runtime, &description, &future), 0);
    const int32_t code = dovetail_future_get(future);
    EXPECT_EQ(dovetail_error_kind(), DOVETAIL_ERROR_TASK);
    EXPECT_STREQ(dovetail_error_label(), "thrower");
    dovetail_future_release(future);
    return code;
  };
  EXPECT_EQ(code_of([](void*) { throw std::runtime_error("no errno in this"); }), -ENOTRECOVERABLE);
  EXPECT_NE(std::string(dovetail_error_message()).find("no errno in this"), std::string::npos);
  EXPECT_EQ(code_of([](void*) { throw 42; }), -ENOTRECOVERABLE);
  EXPECT_EQ(code_of([](void*) { throw std::bad_alloc(); }), -ENOMEM);
  EXPECT_EQ(code_of([](void*) { throw std::system_error(EXDEV, std::generic_category(), "too far"); }), -EXDEV);
  EXPECT_EQ(code_of([](void*) { throw dovetail::IoError(ENOSPC, "pwrite", "/full", 8192, 512); }), -ENOSPC);
  EXPECT_STREQ(dovetail_error_path(), "/full");
  EXPECT_EQ(dovetail_error_offset(), 8192);
  EXPECT_EQ(dovetail_error_length(), 512);
  EXPECT_EQ(dovetail_runtime_destroy(runtime), 0);
}

// A C task that is a child of a C++ one: its failure is an ordinary one there.
TEST(Mixed, CxxParentSeesFailureOfChildFromC) {
  dovetail::Runtime runtime({.workers = 2});
  auto parent = runtime.spawn([] {
    dovetail_task_description description{};
    description.size = sizeof description;
    description.fallible_body = [](void*) -> int32_t { return dovetail_error_set(-ETIME, "too late"); };
    description.label = "child in C";
    EXPECT_EQ(dovetail_task_spawn(&description, nullptr), 0);
    try {
      dovetail::wait();
      ADD_FAILURE() << "the failure of the child was lost";
    } catch (const dovetail::TaskFailed& failure) {
      EXPECT_EQ(failure.label(), "child in C");
      EXPECT_NE(std::string(failure.what()).find("too late"), std::string::npos);
      EXPECT_THROW(std::rethrow_if_nested(failure), std::system_error);
    }
  });
  parent.get();
}

}  // namespace
