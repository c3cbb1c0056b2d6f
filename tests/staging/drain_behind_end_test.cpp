// A drain that only makes the final file longer does not wait for the tier. Where it has not ended, the next opening takes away what it has done.
#include <sys/wait.h>

#include "staging/generation_support.hpp"
#include "staging/inspection.hpp"

namespace dovetail::staging {
namespace {

using Kind = WatchedCalls::Kind;
using Asked = WatchedCalls::Asked;
using Fault = WatchedCalls::Fault;

const Bytes beginning(10'000, std::byte{7});

class DrainBehindEndTest : public TierGenerationTest {
 protected:
  // Whether all segments that have data are synced before the final file is written.
  bool waits_for_tier(TieredFile& file) {
    const std::vector<std::string> with_data = segments();
    std::size_t synced = 0;
    bool has_waited = true;
    calls.before = [&](const Asked& asked) {
      synced += asked.kind == Kind::sync && std::ranges::count(with_data, asked.path()) != 0 ? 1 : 0;
      has_waited =
          has_waited && (asked.kind != Kind::write || asked.path() != final_path || synced == with_data.size());
      return Fault{};
    };
    EXPECT_EQ(file.drain().text(), "");
    calls.before = [](const Asked&) { return Fault{}; };
    return has_waited;
  }
  // A process drains `older` behind `beginning`, and is killed with a part of it there.
  void kill_drain() {
    put(final_path, beginning);
    const pid_t child = ::fork();
    if (child == 0) {
      auto file = open();
      for (std::size_t piece = 0; piece < 20; ++piece) {
        file->write(beginning.size() + piece * older.size(), older);
      }
      calls.at = [](CrashPoint point) {
        if (point == CrashPoint::piece_written) {
          ::_exit(0);
        }
      };
      file->drain();
      ::_exit(1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
    ASSERT_GT(std::filesystem::file_size(final_path), beginning.size());
  }
  // And so is the machine, which had not written what nobody had synced.
  void lose_records() {
    std::filesystem::resize_file(segments().front(), 0);
    EXPECT_TRUE(inspect(log).is_half_drained);
    EXPECT_EQ(inspect(log).staged_bytes, 0U);
  }
};

TEST_F(DrainBehindEndTest, TierIsNotWaitedFor) {
  const auto file = open();
  ASSERT_EQ(file->write(0, older).text(), "");
  EXPECT_FALSE(waits_for_tier(*file));
  ASSERT_EQ(file->write(older.size() + 50, newer).text(), "");
  EXPECT_FALSE(waits_for_tier(*file));
  ASSERT_EQ(file->write(0, newer).text(), "");
  EXPECT_TRUE(waits_for_tier(*file)) << "it changes what was there";
  ASSERT_EQ(file->set_size(100).text(), "");
  ASSERT_EQ(file->write(3'000, newer).text(), "");
  EXPECT_TRUE(waits_for_tier(*file)) << "it cuts the file";
}

TEST_F(DrainBehindEndTest, SharedFileIsDurableOnTheTierBefore) {
  settings.shared = true;
  const auto file = open();
  ASSERT_EQ(file->write(0, older).text(), "");
  EXPECT_TRUE(waits_for_tier(*file));
}

TEST_F(DrainBehindEndTest, DrainThatWasKilledIsDoneAgain) {
  kill_drain();
  ASSERT_EQ(recover(log, settings).failure.text(), "");
  const Bytes bytes = bytes_of(final_path);
  ASSERT_EQ(bytes.size(), beginning.size() + 20 * older.size());
  EXPECT_EQ(bytes.back(), older.back());
}

TEST_F(DrainBehindEndTest, WhatTheMachineHasLostLeavesNoPart) {
  kill_drain();
  lose_records();
  const Recovery recovery = recover(log, settings);
  EXPECT_EQ(recovery.failure.text(), "");
  EXPECT_TRUE(same(bytes_of(final_path), beginning));
  EXPECT_FALSE(std::filesystem::exists(log));
}

// It is cut once: what comes there afterwards stays.
TEST_F(DrainBehindEndTest, OpeningCutsItOnce) {
  kill_drain();
  lose_records();
  auto file = open();
  EXPECT_TRUE(same(all_of(*file), beginning));
  ASSERT_EQ(file->write_through(beginning.size(), newer).text(), "");
  file.reset();
  file = open();
  Bytes expected = beginning;
  expected.insert(expected.end(), newer.begin(), newer.end());
  EXPECT_TRUE(same(all_of(*file), expected));
  ASSERT_EQ(file->write(0, older).text(), "");
  ASSERT_EQ(file->finish().text(), "");
  std::ranges::copy(older, expected.begin());
  EXPECT_TRUE(same(bytes_of(final_path), expected));
}

TEST_F(DrainBehindEndTest, LogThatWasSupersededCutsNothing) {
  kill_drain();
  lose_records();
  TieredFile::Opened other = open_other();
  ASSERT_EQ(other.failure.text(), "");
  ASSERT_EQ(other.file->write(15'000, newer).text(), "");
  ASSERT_EQ(other.file->finish().text(), "");
  EXPECT_TRUE(recover(log, settings).is_superseded);
  const Bytes bytes = bytes_of(final_path);
  ASSERT_GE(bytes.size(), 15'000 + newer.size());
  EXPECT_EQ(bytes[15'000], newer.front());
}

}  // namespace
}  // namespace dovetail::staging
