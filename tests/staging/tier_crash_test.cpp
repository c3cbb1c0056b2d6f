// A process is killed: at random instants, in the middle of a write, and at every named point. Another one recovers. All that was acknowledged is
// there, and nothing else but the change that was under way.
#include <signal.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include <cerrno>

#include "staging/tier_support.hpp"
#include "storage/support.hpp"

namespace dovetail::staging {
namespace {

constexpr std::size_t file_bytes = 60'000;
constexpr std::size_t most_write = 20'000;

[[noreturn]] void die() {
  ::kill(::getpid(), SIGKILL);
  for (;;) {
    ::pause();
  }
}

// Ends the process.
struct Mortal : FileCalls {
  CrashPoint where = CrashPoint::folder_made;
  unsigned visits = 0;                    // at which of them it dies; 0: not there
  std::uint64_t bytes_left = UINT64_MAX;  // it dies in the middle of the write that would go beyond

  void reached(CrashPoint point) noexcept override {
    if (point == where && visits != 0 && --visits == 0) {
      die();
    }
  }
  std::int64_t write(int descriptor, std::span<const iovec> parts, std::uint64_t offset) noexcept override {
    std::vector<iovec> some(parts.begin(), parts.end());
    bool ends = false;
    for (iovec& each : some) {
      ends = ends || each.iov_len > bytes_left;
      each.iov_len = std::min<std::uint64_t>(each.iov_len, bytes_left);
      bytes_left -= bytes_left == UINT64_MAX ? 0 : each.iov_len;
    }
    const std::int64_t written = FileCalls::write(descriptor, some, offset);
    if (ends) {
      die();
    }
    return written;
  }
};

// Some make a drain cut the final file and make it longer again.
Change change_of(std::uint64_t start, std::size_t number) {
  const std::size_t place = number % 40;
  if (place == 38 || place == 39) {
    return {.is_write = false, .offset = place == 38 ? 10U : 70'000U, .data = {}};
  }
  return Change::some(start, number, file_bytes, most_write);
}

class TierCrashTest : public TierTest {
 protected:
  struct End {
    bool killed = false;
    int status = 0;
    std::size_t acknowledged = 0;  // changes
  };

  /// What a child does: changes, and now and then a sync or a drain. Tells of each change that it has been made.
  void change(FileCalls& own, std::uint64_t start, std::size_t count, int tell) const {
    name_old_tier();
    TierSettings mine = settings;
    mine.calls = &own;
    TieredFile::Opened opened = TieredFile::open(log, final_path, mine);
    if (opened.failure) {
      ::_exit(3);
    }
    std::mt19937_64 random(start);
    for (std::size_t number = 0; number < count; ++number) {
      const bool failed = static_cast<bool>(change_of(start, number).make(*opened.file));
      if (failed || ::write(tell, "", 1) != 1) {
        ::_exit(4);
      }
      const std::uint64_t what = number == 60 ? 0 : random() % 12;
      if ((what == 0 && opened.file->drain()) || (what < 3 && opened.file->sync())) {
        ::_exit(5);
      }
    }
    ::_exit(opened.file->finish() ? 6 : 0);
  }

  /// As a superseded job on another node has left it.
  void name_old_tier() const {
    EXPECT_EQ(::setxattr(final_path.c_str(), "user.dovetail.tier.0000000000000000", "x", 1, 0), 0);
  }

  /// Runs `act` in a child. It is killed after so many acknowledgements, if it does not die before.
  template <class Act>
  static End run(const Act& act, std::size_t kill_after = SIZE_MAX) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(ends[0]);
      act(ends[1]);
      ::_exit(0);
    }
    ::close(ends[1]);
    End end;
    char byte = 0;
    while (::read(ends[0], &byte, 1) == 1) {
      if (++end.acknowledged == kill_after) {
        ::kill(child, SIGKILL);
      }
    }
    ::close(ends[0]);
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    end.killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    end.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    EXPECT_TRUE(end.killed || end.status == 0) << "status " << status;
    return end;
  }

  End run_killed(FileCalls& own, std::uint64_t start, std::size_t count, std::size_t kill_after) const {
    return run([&](int tell) { change(own, start, count, tell); }, kill_after);
  }

  static Bytes after(std::uint64_t start, std::size_t changes) {
    PlainModel model;
    for (std::size_t number = 0; number < changes; ++number) {
      change_of(start, number).make(model);
    }
    return model.bytes;
  }

  /// The file has all changes that were acknowledged, and perhaps one more.
  void check(std::uint64_t start, std::size_t acknowledged, std::size_t count) const {
    ASSERT_EQ(recover(log, settings).failure.text(), "");
    const Bytes seen = bytes_of(final_path);
    const bool exactly = static_cast<bool>(same(seen, after(start, acknowledged)));
    const bool one_more = acknowledged < count && same(seen, after(start, acknowledged + 1));
    ASSERT_TRUE(exactly || one_more) << acknowledged << " changes were acknowledged";
    ASSERT_FALSE(std::filesystem::exists(log));
    put(final_path, {});
  }
};

TEST_F(TierCrashTest, AtRandomInstantsNothingIsLostOrInvented) {
  std::mt19937_64 random(test::seed());
  unsigned killed = 0;
  const std::size_t runs = test::scaled(150, 25);
  for (std::size_t run = 0; run < runs; ++run) {
    const std::uint64_t start = random();
    const std::size_t count = 10 + random() % 100;
    FileCalls own;
    const End end = run_killed(own, start, count, 1 + random() % count);
    killed += end.killed ? 1 : 0;
    ASSERT_NO_FATAL_FAILURE(check(start, end.acknowledged, count)) << "run " << run;
  }
  EXPECT_GT(killed, runs / 2);
}

TEST_F(TierCrashTest, InTheMiddleOfAWriteNothingIsLostOrInvented) {
  std::mt19937_64 random(test::seed());
  for (std::size_t run = 0; run < test::scaled(100, 20); ++run) {
    const std::uint64_t start = random();
    Mortal own;
    own.bytes_left = random() % 200'000;
    const End end = run_killed(own, start, 200, SIZE_MAX);
    ASSERT_TRUE(end.killed);
    ASSERT_NO_FATAL_FAILURE(check(start, end.acknowledged, 200)) << "run " << run;
  }
}

TEST_F(TierCrashTest, AtEveryNamedPointNothingIsLostOrInvented) {
  std::mt19937_64 random(test::seed());
  for (std::size_t number = 0; number < crash_points; ++number) {
    const auto point = static_cast<CrashPoint>(number);
    if (point == CrashPoint::discard_begun) {
      continue;  // only `discard` comes there
    }
    for (unsigned round = 0; round < test::scaled(6, 2); ++round) {
      const std::uint64_t start = random();
      Mortal own;
      own.where = point;
      own.visits = round == 0 ? 1 : 1 + static_cast<unsigned>(random() % 4);
      const End end = run_killed(own, start, 120, SIZE_MAX);
      EXPECT_TRUE(end.killed || round != 0) << name_of(point) << " was never reached";
      ASSERT_NO_FATAL_FAILURE(check(start, end.acknowledged, 120)) << name_of(point);
    }
  }
}

// Killed again and again, wherever recovery comes by.
TEST_F(TierCrashTest, RecoveryMayBeKilledAnywhereAndAgain) {
  std::mt19937_64 random(test::seed());
  std::array<unsigned, crash_points> hits{};
  for (std::size_t run = 0; run < 3 * crash_points; ++run) {
    const std::uint64_t start = random();
    FileCalls plain;
    const std::size_t count = 60 + random() % 60;
    const End end = run_killed(plain, start, count, 1 + random() % count);
    for (unsigned time = 0; time < 4; ++time) {
      Mortal own;
      const std::size_t number = time == 0 ? run % crash_points : random() % crash_points;
      own.where = static_cast<CrashPoint>(number);
      own.visits = time == 0 ? 1 : 1 + static_cast<unsigned>(random() % 3);
      TierSettings mine = settings;
      mine.calls = &own;
      const End recovery = TierCrashTest::run([&](int) { ::_exit(recover(log, mine).failure ? 7 : 0); });
      hits[number] += recovery.killed ? 1 : 0;
    }
    ASSERT_NO_FATAL_FAILURE(check(start, end.acknowledged, count)) << "run " << run;
  }
  for (const CrashPoint point : {CrashPoint::drain_begun, CrashPoint::piece_written, CrashPoint::final_synced,
                                 CrashPoint::drain_noted, CrashPoint::drain_durable, CrashPoint::segment_removed,
                                 CrashPoint::folder_emptied, CrashPoint::placement_removed}) {
    EXPECT_GT(hits[static_cast<std::size_t>(point)], 0U) << name_of(point);
  }
}

// Two jobs, each with a tier: the first one was killed, the second one writes the file anew and is killed on its way. What the first one has left comes into the
// file as long as the second one has not taken it over, and never afterwards.
TEST_F(TierCrashTest, WhatWasSupersededNeverComesBack) {
  const std::string other = std::filesystem::absolute(folder / "other");
  std::filesystem::create_directory(other);
  const std::string other_log = folder_of(other, final_path).folder;
  const Bytes older(30'000, std::byte{1});
  const Bytes newer(10'000, std::byte{2});
  unsigned taken = 0;
  unsigned left = 0;
  for (std::size_t number = 0; number < crash_points; ++number) {
    put(final_path, {});
    ASSERT_EQ(open()->write(0, older).text(), "");
    name_old_tier();
    const End end = run([&](int tell) {
      Mortal own;
      own.where = static_cast<CrashPoint>(number);
      own.visits = 1;
      TierSettings mine = settings;
      mine.calls = &own;
      const auto opened = TieredFile::open(other_log, final_path, mine);
      if (opened.failure || opened.file->write(0, newer) || ::write(tell, "", 1) != 1 || opened.file->finish()) {
        ::_exit(3);
      }
    });
    const std::string point = name_of(static_cast<CrashPoint>(number));
    const FileFailure old = recover(log, settings).failure;
    if (old) {
      ++taken;
      ASSERT_EQ(old.error, ESTALE) << point;
      ASSERT_TRUE(std::filesystem::exists(log)) << point;
      ASSERT_EQ(recover(other_log, settings).failure.text(), "") << point;
      const Bytes seen = bytes_of(final_path);
      ASSERT_TRUE(same(seen, newer) || (end.acknowledged == 0 && seen.empty())) << point;
      ASSERT_EQ(discard(log).text(), "") << point;
    } else {
      ++left;
      ASSERT_EQ(end.acknowledged, 0U) << point;
      ASSERT_TRUE(same(bytes_of(final_path), older)) << point;
      ASSERT_EQ(recover(other_log, settings).failure.text(), "") << point;
      ASSERT_TRUE(same(bytes_of(final_path), older)) << point;
    }
    ASSERT_FALSE(std::filesystem::exists(log)) << point;
    ASSERT_FALSE(std::filesystem::exists(other_log)) << point;
  }
  EXPECT_GT(taken, 0U);
  EXPECT_GT(left, 0U);
}

// A log whose newest segment says that the others are drained, as a drain leaves it which is killed before it removes them. However far a discard comes, no
// byte of it is in the file afterwards that was not there before.
TEST_F(TierCrashTest, HalfOfADiscardBringsNothingBack) {
  const Bytes first(30'000, std::byte{1});
  const Bytes second(30'000, std::byte{2});
  unsigned killed = 0;
  for (const CrashPoint point : {CrashPoint::discard_begun, CrashPoint::segment_removed, CrashPoint::tier_forgotten,
                                 CrashPoint::placement_removed, CrashPoint::folder_removed}) {
    for (unsigned visit = 1; visit < 5; ++visit) {
      put(final_path, {});
      run([&](int) {
        Mortal own;
        own.where = CrashPoint::drain_durable;
        own.visits = 1;
        TierSettings mine = settings;
        mine.calls = &own;
        const auto opened = TieredFile::open(log, final_path, mine);
        ::_exit(opened.failure || opened.file->write(0, first) || opened.file->drain() ? 3 : 4);
      });
      ASSERT_TRUE(same(bytes_of(final_path), first));
      put(final_path, second);  // by a program that knows of no log
      const End end = run([&](int) {
        Mortal own;
        own.where = point;
        own.visits = visit;
        ::_exit(discard(log, own) ? 3 : 0);
      });
      killed += end.killed ? 1 : 0;
      ASSERT_EQ(recover(log, settings).failure.text(), "") << name_of(point) << ", visit " << visit;
      ASSERT_TRUE(same(bytes_of(final_path), second)) << name_of(point) << ", visit " << visit;
      ASSERT_FALSE(std::filesystem::exists(log));
    }
  }
  EXPECT_GE(killed, 5U);
}

// The next one to open the file goes on where the last one was killed, without a recovery in between.
TEST_F(TierCrashTest, TheNextOpeningGoesOn) {
  std::mt19937_64 random(test::seed());
  PlainModel model;
  for (std::size_t run = 0; run < test::scaled(40, 10); ++run) {
    const std::uint64_t start = random();
    Mortal own;
    own.bytes_left = random() % 300'000;
    own.where = static_cast<CrashPoint>(random() % crash_points);
    own.visits = static_cast<unsigned>(random() % 5);
    const End end = run_killed(own, start, 40, 1 + random() % 40);
    const Bytes seen = end.killed ? all_of(*open()) : bytes_of(final_path);
    for (std::size_t number = 0; number < end.acknowledged; ++number) {
      change_of(start, number).make(model);
    }
    PlainModel more = model;
    if (end.acknowledged < 40) {
      change_of(start, end.acknowledged).make(more);
    }
    ASSERT_TRUE(same(seen, model.bytes) || same(seen, more.bytes)) << "run " << run;
    model.bytes = seen;
  }
}

}  // namespace
}  // namespace dovetail::staging
