// Work is done once, by the thread that comes first, and no thread waits for one that has not begun.
#include "base/claim.hpp"
#include "base/last_resort.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

namespace dovetail::base {
namespace {

TEST(ClaimTest, OneOfManyHasIt) {
  for (int round = 0; round < 200; ++round) {
    Claim claim;
    std::atomic<int> had{0};
    int result = 0;  // not atomic: a reader that comes too early is a data race
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        if (claim.take()) {
          had.fetch_add(1);
          result = 42;
          claim.end();
        }
        claim.wait();
        EXPECT_TRUE(claim.ended());
        EXPECT_EQ(result, 42);
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    EXPECT_EQ(had.load(), 1);
    EXPECT_FALSE(claim.take());
  }
}

TEST(ClaimTest, WhatIsGivenBackMayBeTakenByTheOneWhoWaited) {
  Claim claim;
  ASSERT_TRUE(claim.take());
  std::atomic<bool> waits{false};
  std::thread other([&] {
    waits.store(true);
    claim.wait();
    EXPECT_FALSE(claim.ended());
    EXPECT_TRUE(claim.take());
    claim.end();
  });
  while (!waits.load()) {
    std::this_thread::yield();
  }
  claim.give_back();
  other.join();
  EXPECT_TRUE(claim.ended());
}

TEST(ClaimTest, NobodyWaitsForWorkThatNobodyHas) {
  const Claim claim;
  claim.wait();
  EXPECT_FALSE(claim.ended());
}

TEST(ClaimTest, TheChildOfAForkDoesNotWaitForThreadsOfItsParent) {
  Claim claim;
  ASSERT_TRUE(claim.take());
  EXPECT_FALSE(claim.is_of_parent());
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(test::last_resort_seconds);
    claim.wait();
    _exit(!claim.ended() && claim.is_of_parent() ? 42 : 1);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 42) << status;
}

}  // namespace
}  // namespace dovetail::base
