// Draining behind a program: nothing that was asked for is forgotten, and what waits for one file is drained once.
#include "staging/background_drain.hpp"

#include <atomic>
#include <latch>
#include <thread>

#include "staging/tier_support.hpp"

namespace dovetail::staging {
namespace {

using Kind = WatchedCalls::Kind;
using Asked = WatchedCalls::Asked;
using Fault = WatchedCalls::Fault;

class BackgroundDrainTest : public TierTest {
 protected:
  std::shared_ptr<TieredFile> shared() const { return open(); }
  /// Counts the syncs of the final file, of which each drain has one.
  bool is_end_of_drain(const Asked& asked) const { return asked.kind == Kind::sync && asked.path() == final_path; }
};

TEST_F(BackgroundDrainTest, BringsTheFileIntoPlaceAndTellsSo) {
  const std::shared_ptr<TieredFile> file = shared();
  ASSERT_EQ(file->write(10, test::random_bytes(50'000, 1)).text(), "");
  BackgroundDrain drain(1);
  std::string told = "nothing";
  drain.request(file, [&told](const FileFailure& failure) { told = failure.text(); });
  drain.wait();
  EXPECT_EQ(told, "");
  EXPECT_TRUE(same(bytes_of(final_path), all_of(*file)));
  EXPECT_EQ(bytes_of(final_path).size(), 50'010U);
}

TEST_F(BackgroundDrainTest, WhatIsNotOpenYetIsDrainedInItsTurn) {
  const std::shared_ptr<TieredFile> file = shared();
  ASSERT_EQ(file->write(0, test::random_bytes(100, 1)).text(), "");
  std::vector<std::thread::id> threads;
  {
    BackgroundDrain drain(1);
    drain.request(file, {});
    for (int i = 0; i < 2; ++i) {
      drain.request(nullptr, [&](const FileFailure& failure) {
        EXPECT_EQ(failure.text(), "");
        EXPECT_FALSE(file->has_changes()) << "that of the file was asked for before";
        threads.push_back(std::this_thread::get_id());
      });
    }
  }
  ASSERT_EQ(threads.size(), 2U) << "each of them, and its end waits for them";
  EXPECT_NE(threads.front(), std::this_thread::get_id());
}

TEST_F(BackgroundDrainTest, WhatWaitsForOneFileIsOneDrain) {
  std::atomic<int> drains = 0;
  std::latch begun(1);
  std::latch go_on(1);
  const std::shared_ptr<TieredFile> file = shared();
  ASSERT_EQ(file->write(0, test::random_bytes(100, 1)).text(), "");
  ASSERT_EQ(file->sync().text(), "");  // which syncs the final file once, for its mark
  calls.before = [&](const Asked& asked) {
    if (is_end_of_drain(asked) && ++drains == 1) {
      begun.count_down();
      go_on.wait();
    }
    return Fault{};
  };
  std::atomic<int> told = 0;
  BackgroundDrain drain(2);
  drain.request(file, [&told](const FileFailure&) { ++told; });
  begun.wait();
  ASSERT_EQ(file->write(50, test::random_bytes(100, 2)).text(), "");
  for (int i = 0; i < 10; ++i) {
    drain.request(file, [&told](const FileFailure&) { ++told; });
  }
  EXPECT_EQ(told, 0);
  go_on.count_down();
  drain.wait();
  EXPECT_EQ(told, 11);
  EXPECT_EQ(drains, 2);
  EXPECT_TRUE(same(bytes_of(final_path), all_of(*file)));
}

TEST_F(BackgroundDrainTest, AFailureIsToldToThoseThatWaitedForIt) {
  std::atomic<bool> fails = true;
  calls.before = [&](const Asked& asked) { return Fault{.error = fails && is_end_of_drain(asked) ? EIO : 0}; };
  const std::shared_ptr<TieredFile> file = shared();
  ASSERT_EQ(file->write(0, test::random_bytes(100, 1)).text(), "");
  BackgroundDrain drain(1);
  FileFailure told;
  drain.request(file, [&told](const FileFailure& failure) { told = failure; });
  drain.wait();
  EXPECT_EQ(told.error, EIO);
  EXPECT_EQ(told.path, final_path);
  fails = false;
  drain.request(file, [&told](const FileFailure& failure) { told = failure; });
  drain.wait();
  EXPECT_EQ(told.text(), "");
  EXPECT_TRUE(same(bytes_of(final_path), all_of(*file)));
}

// The file belongs to nobody else any more.
TEST_F(BackgroundDrainTest, ItsEndWaitsForWhatWasRequested) {
  const Bytes data = test::random_bytes(30'000, 3);
  {
    BackgroundDrain drain(1);
    std::shared_ptr<TieredFile> file = shared();
    ASSERT_EQ(file->write(0, data).text(), "");
    drain.request(std::move(file), {});
  }
  EXPECT_TRUE(same(bytes_of(final_path), data));
}

TEST_F(BackgroundDrainTest, SoManyFilesAreDrainedAtOnceAndNoMore) {
  constexpr int files = 5;
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  std::latch all_requested(1);
  std::latch both(2);
  calls.before = [&](const Asked& asked) {
    if (asked.kind == Kind::sync && asked.path().starts_with(final_path)) {
      const int now = ++inside;
      int seen = most;
      while (now > seen && !most.compare_exchange_weak(seen, now)) {
      }
      all_requested.wait();
      if (!both.try_wait()) {
        both.arrive_and_wait();  // of the first, each waits for the other
      }
      --inside;
    }
    return Fault{};
  };
  BackgroundDrain drain(2);
  for (int i = 0; i < files; ++i) {
    const std::string path = final_path + std::to_string(i);
    put(path, {});
    std::shared_ptr<TieredFile> file = TieredFile::open(log + std::to_string(i), path, settings).file;
    ASSERT_NE(file, nullptr);
    ASSERT_EQ(file->write(0, test::random_bytes(100, 4)).text(), "");
    drain.request(std::move(file), {});
  }
  all_requested.count_down();
  drain.wait();
  EXPECT_EQ(most, 2);
  for (int i = 0; i < files; ++i) {
    EXPECT_EQ(bytes_of(final_path + std::to_string(i)).size(), 100U);
  }
}

// Threads that write and ask at random, and one drain behind them all.
TEST_F(BackgroundDrainTest, ManyThreadsAsk) {
  settings.segment_bytes = 2'000;
  const std::shared_ptr<TieredFile> file = shared();
  std::atomic<int> told = 0;
  constexpr std::uint64_t threads = 4;
  constexpr std::uint64_t each_bytes = 10'000;
  BackgroundDrain drain(3);
  {
    std::vector<std::jthread> writers;
    for (std::uint64_t thread = 0; thread < threads; ++thread) {
      writers.emplace_back([&, thread] {
        const Bytes data = test::random_bytes(each_bytes, thread);
        for (std::uint64_t at = 0; at < each_bytes; at += 100) {
          EXPECT_EQ(file->write(thread * each_bytes + at, std::span(data).subspan(at, 100)).text(), "");
          drain.request(file, [&told](const FileFailure& failure) { told += failure ? 1000 : 1; });
        }
      });
    }
  }
  drain.wait();
  EXPECT_EQ(told, static_cast<int>(threads * each_bytes / 100));
  const Bytes found = bytes_of(final_path);
  ASSERT_EQ(found.size(), threads * each_bytes);
  for (std::uint64_t thread = 0; thread < threads; ++thread) {
    const auto begin = found.begin() + static_cast<std::ptrdiff_t>(thread * each_bytes);
    EXPECT_TRUE(same(Bytes(begin, begin + each_bytes), test::random_bytes(each_bytes, thread)));
  }
}

}  // namespace
}  // namespace dovetail::staging
