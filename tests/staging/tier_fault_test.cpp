// The local tier and the final file fail: what was told to be written is there, and what was told to have failed is not.
#include <cerrno>
#include <set>

#include "staging/tier_support.hpp"
#include "storage/support.hpp"

namespace dovetail::staging {
namespace {

using TierFaultTest = TierTest;
using Kind = WatchedCalls::Kind;
using Asked = WatchedCalls::Asked;
using Fault = WatchedCalls::Fault;

const auto healthy = [](const Asked&) { return Fault{}; };

TEST_F(TierFaultTest, AFailedWriteNamesFileOffsetAndErrno) {
  const auto file = open();
  ASSERT_EQ(file->write(0, test::random_bytes(100, 1)).text(), "");
  calls.before = [](const Asked& asked) { return Fault{.error = asked.kind == Kind::write ? EIO : 0}; };
  const FileFailure failure = file->write(100, test::random_bytes(50, 2));
  EXPECT_EQ(failure.error, EIO);
  EXPECT_EQ(failure.path, segments().front());
  EXPECT_EQ(failure.offset, header_bytes * 2 + 100);
  EXPECT_NE(failure.text().find("Input/output error (errno 5); look at"), std::string::npos) << failure.text();
  calls.before = healthy;
  EXPECT_EQ(file->size(), 100U);
}

// The disk takes so many bytes of the record and no more, whether or not what it took can be cut off.
TEST_F(TierFaultTest, HalfARecordHidesNothing) {
  constexpr std::size_t record = header_bytes + 80;
  for (const bool can_cut : {true, false}) {
    for (std::size_t taken = 0; taken < record; taken += taken % 64 < 62 ? 9 : 1) {
      auto file = open();
      PlainModel model;
      model.write(0, test::random_bytes(100, 1));
      ASSERT_EQ(file->write(0, model.bytes).text(), "");
      std::size_t left = taken;
      calls.before = [&](const Asked& asked) {
        if (asked.kind == Kind::resize && !can_cut) {
          return Fault{.error = EIO};
        }
        if (asked.kind != Kind::write || left == SIZE_MAX) {
          return Fault{};
        }
        const Fault fault = left == 0 ? Fault{.error = EIO} : Fault{.most = left};
        left -= std::min(left, asked.bytes);
        return fault;
      };
      EXPECT_EQ(file->write(50, test::random_bytes(80, 2)).error, EIO);
      EXPECT_TRUE(same(all_of(*file), model.bytes));
      calls.before = healthy;
      model.write(70, test::random_bytes(90, 3));
      ASSERT_EQ(file->write(70, test::random_bytes(90, 3)).text(), "");
      ASSERT_TRUE(same(all_of(*file), model.bytes));
      EXPECT_EQ(segments().size(), can_cut || taken == 0 ? 1U : 2U);
      file.reset();
      file = open();
      ASSERT_NE(file, nullptr);
      ASSERT_TRUE(same(all_of(*file), model.bytes)) << taken << " bytes were taken";
      ASSERT_EQ(file->finish().text(), "");
      ASSERT_TRUE(same(bytes_of(final_path), model.bytes));
      put(final_path, {});
    }
  }
}

// The note of a drain begins a segment, and cannot be written there. What is written after that is behind that segment.
TEST_F(TierFaultTest, AFailedNoteHidesNothingThatComesLater) {
  auto file = open();
  PlainModel model;
  const auto write = [&](std::uint64_t offset, std::uint64_t number) {
    const Bytes bytes = test::random_bytes(100, number);
    model.write(offset, bytes);
    ASSERT_EQ(file->write(offset, bytes).text(), "");
  };
  write(0, 1);
  bool in_note = false;
  std::size_t writes = 0;
  calls.at = [&](CrashPoint point) {
    if (point == CrashPoint::final_synced && !in_note) {
      write(100, 2);
      in_note = true;
    }
  };
  calls.before = [&](const Asked& asked) {
    // The first one is the header of the segment.
    const bool is_record = in_note && asked.kind == Kind::write && asked.is_log() && ++writes == 2;
    return Fault{.error = is_record ? EIO : 0};
  };
  EXPECT_EQ(file->drain().error, EIO);
  calls.before = healthy;
  calls.at = [](CrashPoint) {};
  write(200, 3);
  file.reset();
  file = open();
  ASSERT_NE(file, nullptr);
  EXPECT_TRUE(same(all_of(*file), model.bytes));
}

TEST_F(TierFaultTest, ShortAndInterruptedCallsAreContinued) {
  std::mt19937_64 random(test::seed());
  calls.before = [&](const Asked& asked) {
    if (asked.kind == Kind::open || asked.kind == Kind::remove) {
      return Fault{};
    }
    return random() % 3 == 0 ? Fault{.error = EINTR} : Fault{.most = 1 + random() % 3000};
  };
  PlainModel model;
  auto file = open();
  for (std::uint64_t step = 0; step < 60; ++step) {
    const Change change = Change::some(test::seed(), step, 50'000, 10'000);
    if (!change.is_write) {
      continue;
    }
    change.make(model);
    ASSERT_EQ(change.make(*file).text(), "");
    ASSERT_EQ(step % 7 == 0 ? file->sync().text() : "", "");
  }
  ASSERT_TRUE(same(all_of(*file), model.bytes));
  file.reset();
  file = open();
  ASSERT_EQ(file->finish().text(), "");
  EXPECT_TRUE(same(bytes_of(final_path), model.bytes));
}

// Linux tells of pages that could not be written once, and may have dropped them.
TEST_F(TierFaultTest, AfterAFailedSyncTheNextOneFailsUntilTheDrain) {
  const auto file = open();
  const Bytes data = test::random_bytes(1000, 1);
  ASSERT_EQ(file->write(0, data).text(), "");
  bool fails = true;
  calls.before = [&](const Asked& asked) {
    return Fault{.error = asked.kind == Kind::sync && asked.is_log() && std::exchange(fails, false) ? EIO : 0};
  };
  EXPECT_EQ(file->sync().error, EIO);
  EXPECT_EQ(file->sync().error, EIO);
  ASSERT_EQ(file->write(1000, data).text(), "");
  EXPECT_EQ(file->sync().error, EIO);
  ASSERT_EQ(file->drain().text(), "");
  EXPECT_EQ(file->sync().text(), "");
  ASSERT_EQ(file->write(2000, data).text(), "");
  EXPECT_EQ(file->sync().text(), "");
}

// The same of the name of a new segment.
TEST_F(TierFaultTest, AfterAFailedSyncOfTheFolderTheNextOneFailsUntilTheDrain) {
  const auto file = open();
  ASSERT_EQ(file->write(0, test::random_bytes(1000, 1)).text(), "");
  bool fails = true;
  calls.before = [&](const Asked& asked) {
    const bool is_folder = asked.kind == Kind::sync && asked.path() == log;
    return Fault{.error = is_folder && std::exchange(fails, false) ? EIO : 0};
  };
  EXPECT_EQ(file->sync().error, EIO);
  EXPECT_EQ(file->sync().error, EIO);
  ASSERT_EQ(file->drain().text(), "");
  ASSERT_EQ(file->write(2000, test::random_bytes(1000, 2)).text(), "");
  EXPECT_EQ(file->sync().text(), "");
}

// What is sound is as durable as it can be before a drain changes the final file.
TEST_F(TierFaultTest, ASegmentThatFailsDoesNotKeepOthersFromBeingSynced) {
  const auto file = open();
  for (std::uint64_t i = 0; i < 3; ++i) {
    ASSERT_EQ(file->write(i * 20'000, test::random_bytes(20'000, i)).text(), "");
  }
  ASSERT_EQ(segments().size(), 3U);
  std::set<std::string> synced;
  calls.before = [&](const Asked& asked) {
    if (asked.kind != Kind::sync) {
      return Fault{};
    }
    synced.insert(asked.path());
    return Fault{.error = asked.path() == segments().front() ? EIO : 0};
  };
  EXPECT_EQ(file->sync().error, EIO);
  EXPECT_TRUE(synced.contains(segments().back()));
  EXPECT_TRUE(synced.contains(log));
}

TEST_F(TierFaultTest, TheDrainDoesNotBringChangedDataIntoTheFinalFile) {
  const auto file = open();
  ASSERT_EQ(file->write(0, test::random_bytes(1000, 1)).text(), "");
  ASSERT_EQ(file->write(1000, test::random_bytes(1000, 2)).text(), "");
  Bytes bytes = bytes_of(segments().front());
  bytes[header_bytes * 2 + 500] ^= std::byte{4};
  std::fstream(segments().front(), std::ios::in | std::ios::out | std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  const FileFailure failure = file->drain();
  EXPECT_EQ(failure.error, EBADMSG);
  EXPECT_EQ(failure.path, segments().front());
  EXPECT_EQ(failure.offset, header_bytes);
  EXPECT_EQ(bytes_of(final_path).size(), 0U);
}

// Every call of a drain fails once. All is kept, and the next drain brings it.
TEST_F(TierFaultTest, AFailedDrainKeepsEverything) {
  bool ended = false;
  for (unsigned failing = 0; !ended; ++failing) {
    PlainModel model;
    model.bytes = test::random_bytes(50'000, 9);
    put(final_path, model.bytes);
    auto file = open();
    model.set_size(30'000);
    ASSERT_EQ(file->set_size(30'000).text(), "");
    for (std::uint64_t step = 0; step < 30; ++step) {
      const Change change = Change::some(test::seed(), step, 60'000, 10'000);
      change.make(model);
      ASSERT_EQ(change.make(*file).text(), "");
    }
    model.set_size(90'000);
    ASSERT_EQ(file->set_size(90'000).text(), "");
    unsigned number = 0;
    bool failed = false;
    calls.before = [&](const Asked&) {
      failed = failed || number == failing;
      return Fault{.error = number++ == failing ? EIO : 0};
    };
    const FileFailure failure = file->drain();
    ended = !failed;
    calls.before = healthy;
    ASSERT_TRUE(same(all_of(*file), model.bytes)) << "call " << failing;
    file.reset();
    file = open();
    ASSERT_TRUE(same(all_of(*file), model.bytes)) << "call " << failing;
    ASSERT_EQ(file->drain().text(), "") << "call " << failing << " failed before: " << failure.text();
    ASSERT_TRUE(same(bytes_of(final_path), model.bytes)) << "call " << failing;
    ASSERT_EQ(file->finish().text(), "");
    ASSERT_FALSE(ended && failing < 20) << "so few calls cannot be a drain";
  }
}

// Without the bytes that were reserved for it, a full tier could never be emptied.
TEST_F(TierFaultTest, AFullTierIsDrained) {
  auto file = open();
  const Bytes data = test::random_bytes(3000, 1);
  ASSERT_EQ(file->write(0, data).text(), "");
  bool full = true;
  calls.before = [&](const Asked& asked) {
    full = full && asked.kind != Kind::remove;
    return Fault{.error =
                     full && (asked.kind == Kind::open || (asked.kind == Kind::write && asked.is_log())) ? ENOSPC : 0};
  };
  ASSERT_EQ(file->write(3000, data).text(), "");
  EXPECT_FALSE(full);
  EXPECT_TRUE(same(bytes_of(final_path), data));
  EXPECT_EQ(file->written_through(), 0U);
  EXPECT_EQ(all_of(*file).size(), 6000U);
  calls.before = healthy;
  file.reset();
  EXPECT_TRUE(std::filesystem::exists(log + "/reserve")) << "for the next time";
}

TEST_F(TierFaultTest, WhatATierCannotTakeGoesIntoTheFinalFile) {
  PlainModel model{test::random_bytes(3000, 1)};
  auto file = open();
  ASSERT_EQ(file->write(0, model.bytes).text(), "");
  int final_syncs = 0;
  bool has_begun = false;
  calls.before = [&](const Asked& asked) {
    final_syncs += asked.kind == Kind::sync && asked.path() == final_path ? 1 : 0;
    has_begun = has_begun || (asked.kind == Kind::write && asked.bytes > 5000);
    return Fault{.error = asked.kind == Kind::write && asked.is_log() && asked.bytes > 5000 ? ENOSPC : 0};
  };
  // Newer than what is staged, which must not come over it later.
  const Bytes large = test::random_bytes(10'000, 2);
  model.write(1000, large);
  ASSERT_EQ(file->write(1000, large).text(), "");
  EXPECT_TRUE(has_begun);
  EXPECT_EQ(file->written_through(), 10'000U);
  EXPECT_TRUE(same(bytes_of(final_path), model.bytes));
  EXPECT_TRUE(same(all_of(*file), model.bytes));
  const auto syncs_of = [&](FileFailure (TieredFile::*call)()) {
    const int before = final_syncs;
    EXPECT_EQ(((*file).*call)().text(), "");
    return final_syncs - before;
  };
  EXPECT_GE(syncs_of(&TieredFile::sync), 1) << "it is durable there";
  EXPECT_EQ(syncs_of(&TieredFile::sync), 0);
  ASSERT_EQ(file->write(1000, large).text(), "");
  EXPECT_EQ(syncs_of(&TieredFile::drain), 1) << "though nothing is staged";
  ASSERT_EQ(file->write(1000, large).text(), "");
  const int before = final_syncs;
  const Bytes small = test::random_bytes(100, 3);
  model.write(500, small);
  ASSERT_EQ(file->write(500, small).text(), "");
  EXPECT_EQ(final_syncs, before + 1) << "before something newer can be durable";
  EXPECT_TRUE(same(all_of(*file), model.bytes));
  file.reset();
  file = open();
  EXPECT_TRUE(same(all_of(*file), model.bytes));
  ASSERT_EQ(file->finish().text(), "");
  EXPECT_TRUE(same(bytes_of(final_path), model.bytes));
}

// The kernel tells of it once. Whoever asks later must not take the bytes for durable.
TEST_F(TierFaultTest, BytesInTheFinalFileThatCouldNotBeMadeDurableAreNotForgotten) {
  auto file = open();
  bool fails = true;
  calls.before = [&](const Asked& asked) {
    if (asked.kind == Kind::sync && asked.path() == final_path && std::exchange(fails, false)) {
      return Fault{.error = EIO};
    }
    return Fault{.error = asked.kind == Kind::write && asked.is_log() && asked.bytes > 5000 ? ENOSPC : 0};
  };
  ASSERT_EQ(file->write(0, test::random_bytes(10'000, 2)).text(), "");
  EXPECT_EQ(file->write(0, test::random_bytes(100, 3)).text(), "");
  EXPECT_FALSE(fails);
  EXPECT_EQ(file->sync().error, EIO);
  EXPECT_EQ(file->drain().error, EIO);
  EXPECT_EQ(file->sync().error, EIO);
  EXPECT_EQ(file->finish().error, EIO);
}

TEST_F(TierFaultTest, WhereTheFinalFileIsFullAsWellThatIsSaid) {
  auto file = open();
  ASSERT_EQ(file->write(0, test::random_bytes(3000, 1)).text(), "");
  calls.before = [](const Asked& asked) {
    return Fault{.error = asked.kind != Kind::write ? 0 : asked.is_log() ? ENOSPC : EDQUOT};
  };
  const FileFailure failure = file->write(3000, test::random_bytes(3000, 2));
  EXPECT_EQ(failure.error, EDQUOT);
  EXPECT_EQ(failure.path, final_path);
  EXPECT_TRUE(same(all_of(*file), test::random_bytes(3000, 1)));
}

// A tier of some size, and writes of all sizes into it.
TEST_F(TierFaultTest, ASmallTierLosesNothing) {
  constexpr std::uint64_t tier_bytes = 100'000;
  std::mt19937_64 random(test::seed());
  const auto used = [this] {
    std::uint64_t bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(log)) {
      bytes += entry.file_size();
    }
    return bytes;
  };
  std::uint64_t through = 0;
  for (std::size_t run = 0; run < test::scaled(5, 2); ++run) {
    PlainModel model;
    put(final_path, {});
    calls.before = healthy;
    auto file = open();
    calls.before = [&](const Asked& asked) {
      const bool grows = asked.kind == Kind::write && !asked.path().starts_with(final_path);
      return Fault{.error = grows && used() + asked.bytes > tier_bytes ? ENOSPC : 0};
    };
    for (std::uint64_t step = 0; step < test::scaled(200, 60); ++step) {
      const Change change = Change::some(test::seed() + run, step, 200'000, 60'000);
      change.make(model);
      ASSERT_EQ(change.make(*file).text(), "") << "step " << step;
      ASSERT_EQ(file->size(), model.bytes.size());
      if (random() % 10 == 0) {
        ASSERT_TRUE(same(all_of(*file), model.bytes)) << "step " << step;
      }
      if (random() % 40 == 0) {
        through += file->written_through();
        file.reset();
        file = open();
      }
    }
    ASSERT_TRUE(same(all_of(*file), model.bytes));
    through += file->written_through();
    ASSERT_EQ(file->finish().text(), "");
    ASSERT_TRUE(same(bytes_of(final_path), model.bytes));
  }
  EXPECT_GT(through, 0U);
}

// The final file is complete, and the log says so, but not durably. The next drain must not cut it at a size that it had before.
TEST_F(TierFaultTest, AfterANoteThatIsNotDurableTheDrainGoesOnFromThere) {
  PlainModel model{test::random_bytes(50'000, 1)};
  put(final_path, model.bytes);
  auto file = open();
  for (const std::uint64_t size : {1'000U, 20'000U}) {
    model.set_size(size);
    ASSERT_EQ(file->set_size(size).text(), "");
  }
  model.write(5'000, test::random_bytes(9'000, 2));
  ASSERT_EQ(file->write(5'000, test::random_bytes(9'000, 2)).text(), "");
  bool noted = false;
  calls.at = [&](CrashPoint point) { noted = noted || point == CrashPoint::drain_noted; };
  calls.before = [&](const Asked& asked) { return Fault{.error = noted && asked.kind == Kind::sync ? EIO : 0}; };
  EXPECT_EQ(file->drain().error, EIO);
  EXPECT_EQ(segments().size(), 2U) << "what is not durably noted is kept";
  model.write(30'000, test::random_bytes(100, 3));
  ASSERT_EQ(file->write(30'000, test::random_bytes(100, 3)).text(), "");
  calls.before = [&](const Asked& asked) {
    return Fault{.error = asked.kind == Kind::write && !asked.is_log() ? EIO : 0};
  };
  EXPECT_EQ(file->drain().error, EIO);
  calls.before = healthy;
  EXPECT_TRUE(same(all_of(*file), model.bytes));
  file.reset();
  file = open();
  EXPECT_TRUE(same(all_of(*file), model.bytes));
  ASSERT_EQ(file->finish().text(), "");
  EXPECT_TRUE(same(bytes_of(final_path), model.bytes));
}

// It lies in the newest segment, which the next drain seals. Were the note of that one put there as well, it would go with what it says is not needed.
TEST_F(TierFaultTest, NoteOfASecondDrainOutlivesWhatItRemoves) {
  auto file = open();
  ASSERT_EQ(file->write(0, Bytes(3'000, std::byte{1})).text(), "");
  bool noted = false;
  calls.at = [&](CrashPoint point) { noted = noted || point == CrashPoint::drain_noted; };
  calls.before = [&](const Asked& asked) { return Fault{.error = noted && asked.kind == Kind::sync ? EIO : 0}; };
  EXPECT_EQ(file->drain().error, EIO);
  calls.before = healthy;
  ASSERT_EQ(file->drain().text(), "");
  EXPECT_FALSE(segments().empty());
  ASSERT_EQ(file->write(0, Bytes(100, std::byte{2})).text(), "");
  ASSERT_EQ(file->sync().text(), "");
  file.reset();
  file = open();
  EXPECT_EQ(all_of(*file)[50], std::byte{2});
  ASSERT_EQ(file->finish().text(), "");
  EXPECT_EQ(bytes_of(final_path)[50], std::byte{2});
}

TEST_F(TierFaultTest, RandomFaultsLoseAndInventNothing) {
  std::mt19937_64 random(test::seed());
  unsigned faults = 0;
  for (std::size_t run = 0; run < test::scaled(30, 6); ++run) {
    put(final_path, {});
    PlainModel model;
    const std::uint64_t rate = 5 + random() % 40;
    calls.before = [&](const Asked& asked) {
      if (random() % rate != 0) {
        return Fault{};
      }
      ++faults;
      const int errors[] = {EIO, ENOSPC, EINTR};
      const bool may_be_short = asked.kind == Kind::write || asked.kind == Kind::read;
      return may_be_short && random() % 2 == 0 ? Fault{.most = 1 + random() % 200}
                                               : Fault{.error = errors[random() % 3]};
    };
    std::unique_ptr<TieredFile> file;
    const auto reopen = [&] {
      for (file.reset(); file == nullptr;) {
        file = TieredFile::open(log, final_path, settings).file;
      }
    };
    reopen();
    for (std::uint64_t step = 0; step < 100; ++step) {
      const Change change = Change::some(test::seed() + run, step, 50'000, 10'000);
      if (!change.make(*file)) {
        change.make(model);
      }
      if (random() % 10 == 0) {
        file->drain();
      }
      if (random() % 10 == 0) {
        file->sync();
      }
      if (random() % 20 == 0) {
        reopen();
      }
      Bytes target(60'000);
      const TieredFile::Read got = file->read(0, target);
      target.resize(got.bytes);
      ASSERT_TRUE(got.failure || same(target, model.bytes)) << "run " << run << ", step " << step;
    }
    calls.before = healthy;
    ASSERT_TRUE(same(all_of(*file), model.bytes)) << "run " << run;
    reopen();
    ASSERT_EQ(file->finish().text(), "") << "run " << run;
    ASSERT_TRUE(same(bytes_of(final_path), model.bytes)) << "run " << run;
  }
  EXPECT_GT(faults, 100U);
}

}  // namespace
}  // namespace dovetail::staging
