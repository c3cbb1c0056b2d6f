// A file on the local tier: what its owner reads, what is in the final file, and how the drain writes it.
#include "staging/tiered_file.hpp"

#include <sys/resource.h>

#include <atomic>
#include <thread>

#include "staging/tier_support.hpp"
#include "storage/support.hpp"

namespace dovetail::staging {
namespace {

using TieredFileTest = TierTest;
using Kind = WatchedCalls::Kind;
using Asked = WatchedCalls::Asked;
using Fault = WatchedCalls::Fault;

TEST_F(TieredFileTest, RandomCallsAreSeenAndLeaveTheSameFile) {
  std::mt19937_64 random(test::seed());
  for (std::size_t run = 0; run < test::scaled(20, 4); ++run) {
    PlainModel model;
    model.bytes = test::random_bytes(random() % 50'000, run);
    put(final_path, model.bytes);
    auto file = open();
    for (std::uint64_t step = 0; step < test::scaled(200, 80); ++step) {
      const std::uint64_t kind = random() % 20;
      if (kind < 11) {
        const Change change = Change::some(test::seed() + run, step, 100'000, 30'000);
        change.make(model);
        ASSERT_EQ(change.make(*file).text(), "");
      } else if (kind < 16) {
        const std::uint64_t offset = random() % 120'000;
        const std::size_t length = random() % 60'000;
        ASSERT_TRUE(same(read(*file, offset, length), model.part(offset, length))) << "step " << step;
      } else if (kind == 16) {
        ASSERT_EQ(file->sync().text(), "");
      } else if (kind < 19) {
        ASSERT_EQ(file->drain().text(), "");
        ASSERT_TRUE(same(bytes_of(final_path), model.bytes)) << "step " << step;
      } else {
        file.reset();
        file = open();
      }
      ASSERT_EQ(file->size(), model.bytes.size());
    }
    ASSERT_TRUE(same(all_of(*file), model.bytes));
    ASSERT_EQ(file->finish().text(), "");
    ASSERT_TRUE(same(bytes_of(final_path), model.bytes));
    ASSERT_FALSE(std::filesystem::exists(log));
  }
}

TEST_F(TieredFileTest, TheFinalFileChangesByTheDrainAlone) {
  put(final_path, test::random_bytes(5000, 1));
  const auto file = open();
  ASSERT_EQ(file->write(100, test::random_bytes(1000, 2)).text(), "");
  ASSERT_EQ(file->set_size(3000).text(), "");
  ASSERT_EQ(file->sync().text(), "");
  EXPECT_TRUE(same(bytes_of(final_path), test::random_bytes(5000, 1)));
  ASSERT_EQ(file->drain().text(), "");
  EXPECT_EQ(bytes_of(final_path).size(), 3000U);
}

TEST_F(TieredFileTest, AWriteLargerThanARecordIsWhole) {
  settings.segment_bytes = std::size_t{64} << 20;
  const Bytes data = test::random_bytes(most_record_bytes * 2 + 12'345, 3);
  auto file = open();
  ASSERT_EQ(file->write(1'000, data).text(), "");
  EXPECT_EQ(file->extents(), 1U);
  EXPECT_TRUE(same(read(*file, 1'000, data.size()), data));
  file.reset();
  file = open();
  EXPECT_EQ(file->extents(), 1U);
  ASSERT_EQ(file->finish().text(), "");
  Bytes expected(1'000);
  expected.insert(expected.end(), data.begin(), data.end());
  EXPECT_TRUE(same(bytes_of(final_path), expected));
}

TEST_F(TieredFileTest, OffsetsBehindTheEndOfAllFilesAreRefused) {
  const auto file = open();
  const Bytes data(10);
  EXPECT_EQ(file->write(most_file_bytes - 9, data).error, EFBIG);
  EXPECT_EQ(file->write(UINT64_MAX - 3, data).error, EFBIG);
  EXPECT_EQ(file->set_size(most_file_bytes + 1).error, EFBIG);
  EXPECT_EQ(file->size(), 0U);
}

// Sorted by offset, no request has parts of two, and none has bytes that nobody wrote.
TEST_F(TieredFileTest, TheDrainWritesLargeAlignedRequestsInOrder) {
  constexpr std::size_t request = 16'384;
  const Bytes data = test::random_bytes(100'000, 4);
  const auto file = open();
  std::vector<std::size_t> order(data.size() / 1000);
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  std::ranges::shuffle(order, std::mt19937_64(test::seed()));
  for (const std::size_t each : order) {
    ASSERT_EQ(file->write(5000 + each * 1000, std::span(data).subspan(each * 1000, 1000)).text(), "");
  }
  std::vector<ByteRange> writes;
  calls.before = [&](const Asked& asked) {
    if (asked.kind == Kind::write && asked.path() == final_path) {
      writes.push_back({asked.offset, asked.bytes});
    }
    return Fault{};
  };
  ASSERT_EQ(file->drain().text(), "");
  std::uint64_t at = 5000;
  for (const ByteRange& each : writes) {
    EXPECT_EQ(each.offset, at);
    at = std::min<std::uint64_t>(105'000, (each.offset / request + 1) * request);
    EXPECT_EQ(each.end(), at);
  }
  EXPECT_EQ(at, 105'000U);
  EXPECT_TRUE(same(read(*file, 5000, data.size()), data));
}

// Otherwise the device would have nothing to do until the drain syncs. Copied and then synced, 100 MB take 1.4 times as long.
TEST_F(TieredFileTest, TheDeviceBeginsWithTheFirstRequest) {
  const Bytes data = test::random_bytes(100'000, 5);
  const auto file = open();
  ASSERT_EQ(file->write(0, data).text(), "");
  std::uint64_t written = 0;
  std::uint64_t begun = 0;
  calls.before = [&](const Asked& asked) {
    if (asked.kind == Kind::write && asked.path() == final_path) {
      EXPECT_EQ(begun, written) << "nothing is asked of the device for what has been written";
      written = asked.offset + asked.bytes;
    }
    return Fault{};
  };
  calls.at_writeback = [&](ByteRange range) {
    EXPECT_EQ(range.offset, begun);
    begun = range.end();
  };
  ASSERT_EQ(file->drain().text(), "");
  EXPECT_EQ(begun, data.size());
}

// The memory of a large request has 2048 pages, and the scan's 256. To touch them takes longer than all the rest of a small drain.
TEST_F(TieredFileTest, TheDrainOfASmallFileTouchesLittleMemory) {
  settings.drain = {};
  const auto file = open();
  const auto faults = [] {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_minflt;
  };
  ASSERT_EQ(file->write(0, test::random_bytes(1000, 6)).text(), "");
  ASSERT_EQ(file->drain().text(), "");
  ASSERT_EQ(file->write(0, test::random_bytes(1000, 7)).text(), "");
  const long before = faults();
  ASSERT_EQ(file->drain().text(), "");
  EXPECT_LT(faults() - before, 200);
}

// The bytes would be gone with the descriptor.
TEST_F(TieredFileTest, AFileThatHasLostItsNameMeanwhileIsNotDrained) {
  const auto file = open();
  const Bytes data = test::random_bytes(1000, 1);
  ASSERT_EQ(file->write(0, data).text(), "");
  put(final_path + ".new", {});
  std::filesystem::rename(final_path + ".new", final_path);
  EXPECT_EQ(file->drain().error, ESTALE);
  EXPECT_TRUE(same(all_of(*file), data));
  std::filesystem::remove(final_path);
  EXPECT_EQ(file->drain().error, ENOENT);
  EXPECT_FALSE(segments().empty());
}

// As programs do with a checkpoint that is whole.
TEST_F(TieredFileTest, AFileThatIsRenamedMeanwhileIsDrained) {
  const auto file = open();
  const Bytes data = test::random_bytes(1000, 1);
  ASSERT_EQ(file->write(0, data).text(), "");
  std::filesystem::rename(final_path, final_path + ".done");
  ASSERT_EQ(file->finish().text(), "");
  EXPECT_TRUE(same(bytes_of(final_path + ".done"), data));
  EXPECT_FALSE(std::filesystem::exists(log));
}

// Another process may drain into it between the opening of the final file and that of the log.
TEST_F(TieredFileTest, TheSizeOfTheFinalFileIsThatWhenTheLogIsHad) {
  bool grown = false;
  calls.before = [&](const WatchedCalls::Asked&) {
    if (!std::exchange(grown, true)) {
      put(final_path, test::random_bytes(1000, 1));
    }
    return WatchedCalls::Fault{};
  };
  const auto file = open();
  ASSERT_TRUE(grown);
  EXPECT_EQ(file->size(), 1000U);
}

TEST_F(TieredFileTest, TheDrainGivesSpaceBack) {
  const auto file = open();
  for (unsigned round = 0; round < 5; ++round) {
    for (std::uint64_t i = 0; i < 40; ++i) {
      ASSERT_EQ(file->write(i * 5000, test::random_bytes(5000, i)).text(), "");
    }
    EXPECT_GE(segments().size(), 9U);
    ASSERT_EQ(file->drain().text(), "");
    EXPECT_LE(segments().size(), 2U);
    EXPECT_LE(file->log_bytes(), 1000U);
    EXPECT_EQ(file->extents(), 0U);
  }
}

TEST_F(TieredFileTest, ADrainOfNothingChangesNothing) {
  const auto file = open();
  ASSERT_EQ(file->drain().text(), "");
  EXPECT_TRUE(segments().empty());
  ASSERT_EQ(file->write(0, test::random_bytes(10, 1)).text(), "");
  ASSERT_EQ(file->drain().text(), "");
  const std::uint64_t bytes = file->log_bytes();
  ASSERT_EQ(file->drain().text(), "");
  EXPECT_EQ(file->log_bytes(), bytes);
}

// In the middle of the drain, made certain by its own calls.
TEST_F(TieredFileTest, WhatIsWrittenDuringADrainIsSeenAndStaysInTheLog) {
  PlainModel model;
  auto file = open();
  const auto change = [&](std::uint64_t number) {
    const Change made = Change::some(test::seed(), number, 60'000, 20'000);
    made.make(model);
    EXPECT_EQ(made.make(*file).text(), "");
    EXPECT_TRUE(same(all_of(*file), model.bytes));
  };
  for (std::uint64_t round = 0; round < 20; ++round) {
    for (std::uint64_t i = 0; i < 20; ++i) {
      change(round * 100 + i);
    }
    std::uint64_t number = round * 100 + 50;
    unsigned depth = 0;
    calls.at = [&](CrashPoint point) {
      const bool in_drain = point == CrashPoint::final_cut || point == CrashPoint::piece_written ||
                            point == CrashPoint::final_grown || point == CrashPoint::final_synced;
      if (in_drain && depth == 0) {
        ++depth;
        change(number++);
        --depth;
      }
    };
    ASSERT_EQ(file->drain().text(), "");
    calls.at = [](CrashPoint) {};
    ASSERT_TRUE(same(all_of(*file), model.bytes)) << "round " << round;
    file.reset();
    file = open();
    ASSERT_TRUE(same(all_of(*file), model.bytes)) << "round " << round;
  }
}

// Each thread has a part of the file, and looks at it all the time.
TEST_F(TieredFileTest, ThreadsWriteReadSyncAndDrainAtTheSameTime) {
  constexpr std::size_t part = 40'000;
  constexpr unsigned writers = 3;
  const auto file = open();
  std::atomic<unsigned> working = writers;
  std::atomic<unsigned> wrong = 0;
  std::array<PlainModel, writers> models;
  std::vector<std::jthread> threads;
  for (unsigned number = 0; number < writers; ++number) {
    threads.emplace_back([&, number] {
      PlainModel& model = models[number];
      for (std::uint64_t step = 0; step < test::scaled(300, 60); ++step) {
        Change change = Change::some(test::seed() + number, step, part - 5000, 5000);
        change.is_write = true;
        change.data.resize(std::max<std::size_t>(change.data.size(), 1));
        model.write(change.offset, change.data);
        wrong += file->write(number * part + change.offset, change.data) ? 1 : 0;
        wrong += same(read(*file, number * part + change.offset, change.data.size()), change.data) ? 0 : 1;
        wrong += step % 16 == 0 && file->sync() ? 1 : 0;
      }
      --working;
    });
  }
  while (working != 0) {
    ASSERT_EQ(file->drain().text(), "");
  }
  for (std::jthread& each : threads) {
    each.join();
  }
  EXPECT_EQ(wrong, 0U);
  ASSERT_EQ(file->finish().text(), "");
  const Bytes bytes = bytes_of(final_path);
  for (unsigned number = 0; number < writers; ++number) {
    const Bytes& expected = models[number].bytes;
    ASSERT_LE(number * part + expected.size(), bytes.size());
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(number * part);
    EXPECT_TRUE(same({begin, begin + static_cast<std::ptrdiff_t>(expected.size())}, expected)) << "part " << number;
  }
}

// Of two writes of the same bytes at the same time either may be the newer one. Who opens the file next must see the same one.
TEST_F(TieredFileTest, TheLogAndTheIndexAgreeOnTheOrderOfWrites) {
  constexpr std::size_t bytes = 16;
  for (std::size_t round = 0; round < test::scaled(8, 4); ++round) {
    auto file = open();
    {
      std::vector<std::jthread> threads;
      for (unsigned number = 0; number < 3; ++number) {
        threads.emplace_back([&, number] {
          for (std::uint64_t step = 0; step < 2000; ++step) {
            const Bytes data(bytes, static_cast<std::byte>(number * 64 + step % 64));
            EXPECT_EQ(file->write(step % 1000 * bytes, data).error, 0);
          }
        });
      }
    }
    const Bytes seen = all_of(*file);
    file.reset();
    file = open();
    ASSERT_TRUE(same(all_of(*file), seen)) << "round " << round;
  }
}

// What is durable on the tier was told to be: the segment, and the folder that names it. So was the file that it belongs to, and its folder.
TEST_F(TieredFileTest, SyncMakesNewSegmentsAndTheirNamesDurable) {
  const auto file = open();
  std::vector<std::string> synced;
  calls.before = [&](const Asked& asked) {
    if (asked.kind == Kind::sync) {
      synced.push_back(asked.path());
    }
    return Fault{};
  };
  ASSERT_EQ(file->write(0, test::random_bytes(15'000, 1)).text(), "");
  ASSERT_EQ(file->write(0, test::random_bytes(15'000, 2)).text(), "");
  ASSERT_EQ(file->write(0, test::random_bytes(15'000, 3)).text(), "");
  EXPECT_TRUE(synced.empty());
  ASSERT_EQ(file->sync().text(), "");
  EXPECT_EQ(synced.size(), 5U);
  const std::string final_folder = std::filesystem::path(final_path).parent_path();
  for (const std::string& each : {segments()[0], segments()[1], log, final_path, final_folder}) {
    EXPECT_EQ(std::ranges::count(synced, std::filesystem::canonical(each).string()), 1) << each;
  }
  synced.clear();
  ASSERT_EQ(file->sync().text(), "");
  EXPECT_TRUE(synced.empty()) << "nothing was written since";
  ASSERT_EQ(file->write(0, test::random_bytes(10, 4)).text(), "");
  ASSERT_EQ(file->sync().text(), "");
  EXPECT_EQ(synced.size(), 1U) << "the name of the segment is durable";
}

}  // namespace
}  // namespace dovetail::staging
