// Transfers run in the program's runtime, and a program whose runtime has no thread to spare is slow at worst.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <future>
#include <latch>
#include <string>

#include "dovetail/dovetail.hpp"
#include "staging/closing.hpp"
#include "support.hpp"
#include "tasking/hosting.hpp"
#include "tasking/pause.hpp"

namespace dovetail::staging {
namespace {

using RuntimeTest = StagingTest;

TEST_F(RuntimeTest, TransfersRunInTheRuntimeOfTheProgram) {
  Runtime program(Options{.workers = 1});
  const auto file = open(device / "file");
  const auto transfers = std::make_shared<Transfers>();
  const auto runs_in = std::make_shared<std::promise<detail::RuntimeCore*>>();
  transfers->when_done.emplace_back([runs_in] { runs_in->set_value(tasking::current_runtime()); });
  ASSERT_EQ(write(*file, 0, filled(mebibyte, 1), {.purpose = {"test", nullptr}, .transfers = transfers}), 0);
  EXPECT_EQ(runs_in->get_future().get(), &program.core());
}

TEST_F(RuntimeTest, TheProgramsWaitIsOverWhenWhatWasWrittenIsInTheFile) {
  Runtime program(Options{.workers = 1});
  const auto file = open(device / "file");
  device.rules("write delay=5");
  ASSERT_EQ(write(*file, 0, filled(mebibyte, 1)), 0);
  program.wait();
  EXPECT_EQ(contents(device.behind("file")), filled(mebibyte, 1));
}

TEST_F(RuntimeTest, WhoeverWaitsWritesWhereEveryExecutorIsBlocked) {
  Runtime program(Options{.workers = 1, .io_executors = 1});
  std::latch blocked(1);
  std::latch release(1);
  auto blocker = program.spawn({.io = true}, [&] {
    blocked.count_down();
    release.wait();
  });
  blocked.wait();
  const auto file = open(device / "file");
  const auto other = open(device / "other");
  ASSERT_EQ(write(*file, 0, filled(mebibyte, 1)), 0);
  ASSERT_EQ(write(*other, 0, filled(16 * mebibyte, 2)), 0) << "waits for space that the first file has";
  EXPECT_EQ(settle(*file), "");
  EXPECT_EQ(contents(device.behind("file")), filled(mebibyte, 1));
  std::uint64_t waited = 0;
  close_later(*stage, other->device(), other->inode(), "test", [&] { close(*other); });
  wait_until_closed(*stage, other->device(), other->inode(), waited);
  EXPECT_EQ(contents(device.behind("other")), filled(16 * mebibyte, 2));
  release.count_down();
  blocker.get();
}

TEST_F(RuntimeTest, ATaskThatWaitsBlocksItsWorkerAndRunsNoOther) {
  Runtime program(Options{.workers = 1});
  const auto file = open(device / "file");
  std::atomic<bool> other_ran{false};
  const bool ran_meanwhile = program
                                 .spawn([&] {
                                   const auto thread = std::this_thread::get_id();
                                   spawn([&] { other_ran.store(true); });
                                   EXPECT_EQ(write(*file, 0, filled(mebibyte, 1)), 0);
                                   EXPECT_EQ(write(*file, mebibyte, filled(10, 2)), 0);
                                   EXPECT_EQ(settle(*file), "");
                                   EXPECT_EQ(std::this_thread::get_id(), thread);
                                   return other_ran.load();
                                 })
                                 .get();
  EXPECT_FALSE(ran_meanwhile) << "the caller may hold a lock of its library";
  EXPECT_EQ(contents(device.behind("file")).size(), mebibyte + 10);
}

TEST_F(RuntimeTest, WhatIsPendingOutlivesTheRuntimeThatWasToWriteIt) {
  const auto file = open(device / "file");
  {
    const Runtime program(Options{.workers = 1});
    ASSERT_EQ(write(*file, 0, filled(100, 1)), 0);  // too little for a task at once
  }
  while (contents(device.behind("file")) != filled(100, 1)) {
    std::this_thread::yield();
  }
}

TEST_F(RuntimeTest, ARuntimeThatEndsLeavesNoMemoryBehindAndNoOtherRuntime) {
  {
    const Runtime program(Options{.workers = 1});
    const auto file = open(device / "file");
    ASSERT_EQ(write(*file, 0, filled(3 * mebibyte, 1)), 0);
    EXPECT_EQ(close(*file), "");
    const Lock lock(stage->mutex);
    EXPECT_GE(stage->pool.kept(), mebibyte) << "for writes to come";
  }
  EXPECT_FALSE(tasking::with_host(nullptr, [](detail::RuntimeCore&) {}));
  const Lock lock(stage->mutex);
  EXPECT_EQ(stage->pool.kept(), 0U);
}

TEST_F(RuntimeTest, AWaitWithALimitReturnsWhileTheDeviceHoldsAll) {
  device.rules("write hold");
  const auto file = open(device / "file");
  ASSERT_EQ(write(*file, 0, filled(100, 1)), 0);
  std::uint64_t waited = 0;
  {
    const Lock lock(stage->mutex);
    EXPECT_FALSE(stage->wait_for(0, waited, [&] { return file->settled(); }));
    EXPECT_FALSE(stage->wait_for(20'000'000, waited, [&] { return file->settled(); }));
    EXPECT_GE(waited, 20'000'000U);
  }
  device.await(1);  // a task was made for it
  device.rules("");
  const Lock lock(stage->mutex);
  EXPECT_TRUE(stage->wait_for(UINT64_MAX, waited, [&] { return file->settled(); }));
}

TEST_F(RuntimeTest, DrainWaitsForAllFilesAndCloses) {
  device.rules("write delay=2");
  std::vector<std::unique_ptr<StagedFile>> files;
  for (int i = 0; i < 5; ++i) {
    files.push_back(open(device / ("file" + std::to_string(i))));
    ASSERT_EQ(write(*files.back(), 0, filled(300 * kibibyte, i)), 0);
  }
  close_later(*stage, files[0]->device(), files[0]->inode(), "test", [&] { close(*files[0]); });
  std::uint64_t waited = 0;
  stage->drain(waited);
  EXPECT_EQ(files[0]->descriptor(), -1);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(contents(device.behind("file" + std::to_string(i))), filled(300 * kibibyte, i));
  }
}

TEST_F(RuntimeTest, AFailureInACloseInTheBackgroundIsPrintedAndCounted) {
  device.rules("write error=EIO");
  testing::internal::CaptureStderr();  // the first write may fail before the close begins
  const auto file = open(device / "file");
  ASSERT_EQ(write(*file, 0, filled(mebibyte, 1)), 0);
  close_later(*stage, file->device(), file->inode(), "test", [&] { close(*file); });
  std::uint64_t waited = 0;
  wait_until_closed(*stage, file->device(), file->inode(), waited);
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_NE(told.find("errno 5"), std::string::npos) << told;
  EXPECT_EQ(stage->failures, 1U);
}

// A thread that waits may end the process when the wait is over, and what was not printed by then is lost.
TEST_F(RuntimeTest, AFailureIsPrintedBeforeAWaitForTheWriteIsOver) {
  device.rules("write error=EIO");
  const auto file = open(device / "file");
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
  while (::write(ends[1], "full", 4) > 0) {
  }
  ASSERT_EQ(fcntl(ends[1], F_SETFL, 0), 0);
  const int standard_error = dup(STDERR_FILENO);
  ASSERT_EQ(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);

  ASSERT_EQ(write(*file, 0, filled(mebibyte, 1)), 0);
  const auto has_failed = [&] {
    const Lock lock(stage->mutex);
    return stage->failures == 1;
  };
  while (!has_failed()) {
    std::this_thread::yield();
  }
  std::uint64_t waited = 0;
  {
    const Lock lock(stage->mutex);
    EXPECT_FALSE(stage->wait_for(20'000'000, waited, [&] { return file->settled(); }));
  }
  std::string told;
  std::array<char, 4096> part{};
  while (told.find("errno 5") == std::string::npos) {
    pollfd ready{.fd = ends[0], .events = POLLIN, .revents = 0};
    ASSERT_GE(poll(&ready, 1, -1), 0);
    const ssize_t bytes = ::read(ends[0], part.data(), part.size());
    told = told.substr(told.size() - std::min<std::size_t>(told.size(), 4096))
               .append(part.data(), static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
  }
  dup2(standard_error, STDERR_FILENO);
  for (const int descriptor : {standard_error, ends[0], ends[1]}) {
    ::close(descriptor);
  }
  const Lock lock(stage->mutex);
  EXPECT_TRUE(stage->wait_for(UINT64_MAX, waited, [&] { return file->settled(); }));
}

TEST_F(RuntimeTest, ACloseHoldsBackThoseWhoWaitForItsInodeAlone) {
  device.rules("write path=slow hold");
  std::atomic<bool> closed{false};
  const auto slow = open(device / "slow");
  const auto other = open(device / "other");
  ASSERT_EQ(write(*slow, 0, filled(mebibyte, 1)), 0);
  device.await(1);
  close_later(*stage, slow->device(), slow->inode(), "test", [&] {
    close(*slow);
    closed.store(true);
  });
  std::uint64_t waited = 0;
  wait_until_closed(*stage, other->device(), other->inode(), waited);
  EXPECT_FALSE(closed.load());
  device.rules("");
  wait_until_closed(*stage, slow->device(), slow->inode(), waited);
  EXPECT_TRUE(closed.load());
}

}  // namespace
}  // namespace dovetail::staging
