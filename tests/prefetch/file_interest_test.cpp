// Of which files tasks are noted: not of those where all is there, reading ahead comes too late, or nothing reads; a look now and then finds out when
// that changes.
#include "prefetch/file_interest.hpp"

#include <gtest/gtest.h>

namespace dovetail::prefetching {
namespace {

constexpr std::uint64_t kibibyte = 1 << 10;
constexpr std::uint64_t millisecond = 1'000'000;

using Wish = FileInterest::Wish;

class FileInterestTest : public testing::Test {
 protected:
  // How many of so many tasks at random, spawned at once, are not left to the system.
  int wanted(int tasks, std::uint64_t now) {
    int count = 0;
    for (int i = 0; i < tasks; ++i) {
      count += wish(now) != Wish::nothing ? 1 : 0;
    }
    return count;
  }
  // Looks at so many tasks where the file says so. How many were looked at.
  int look(int tasks, bool are_there, std::uint64_t now) {
    int looks = 0;
    for (int i = 0; i < tasks; ++i) {
      if (wish(now) == Wish::look) {
        interest_.was_seen(are_there, now);
        ++looks;
      }
    }
    return looks;
  }
  void make_it_rest(std::uint64_t now) {
    look(257, true, now);
    ASSERT_TRUE(interest_.rests());
  }
  Wish wish(std::uint64_t now) { return interest_.wants({next_ = (next_ + 7919) % 100'000 * 4096, 4096}, now); }
  std::uint64_t next_ = 1;
  FileInterest interest_{{1024 * kibibyte, 256 * kibibyte, 2048 * kibibyte}};
};

TEST_F(FileInterestTest, EachTaskIsLookedAtUntilSomeInARowWereThereThenOneOfEight) {
  EXPECT_EQ(look(31, true, 0), 31);
  EXPECT_EQ(look(1, false, 0), 1);
  EXPECT_EQ(look(32, true, 0), 32);
  EXPECT_EQ(look(64, true, 0), 8);
  EXPECT_FALSE(interest_.rests());
  EXPECT_EQ(look(200, false, 0), 200) << "what is missing has each looked at again";
  look(255, true, 0);
  EXPECT_FALSE(interest_.rests());
  look(2, true, 0);
  EXPECT_TRUE(interest_.rests());
  EXPECT_EQ(wanted(10, 1), 0);
}

TEST_F(FileInterestTest, ARestBeginsAlsoWhereThoseThatWereNotedFindAllAsTheyAreLookedAtAgain) {
  interest_.looked_at(1000, true, 0);
  interest_.looked_at(1, false, 0);
  interest_.looked_at(1023, true, 0);
  EXPECT_FALSE(interest_.rests());
  interest_.looked_at(1, true, 0);
  EXPECT_TRUE(interest_.rests());
  EXPECT_EQ(wanted(10, 1), 0);
  EXPECT_EQ(wish(4 * millisecond), Wish::note) << "whether it is there when it is spawned does not count";
}

TEST_F(FileInterestTest, InARestOneIsLookedAtNowAndThenMoreAndMoreRarely) {
  make_it_rest(0);
  std::uint64_t now = 0;
  for (const std::uint64_t rest : {4, 8, 16, 32, 64, 64}) {
    EXPECT_EQ(wanted(100, now + rest * millisecond - 1), 0);
    now += rest * millisecond;
    EXPECT_EQ(look(100, true, now), 1);
  }
}

TEST_F(FileInterestTest, ALookThatFindsSomethingMissingEndsTheRest) {
  make_it_rest(0);
  EXPECT_EQ(wish(4 * millisecond), Wish::look);
  interest_.was_seen(false, 4 * millisecond);
  EXPECT_FALSE(interest_.rests());
  EXPECT_EQ(wanted(100, 4 * millisecond), 100);
}

TEST_F(FileInterestTest, TasksThatAllBeginBeforeAnythingCanComeEndTheNotes) {
  const auto begin = [&](int tasks, std::uint64_t ahead) {
    for (int i = 0; i < tasks; ++i) {
      interest_.begins(ahead, 0);
    }
  };
  begin(31, 0);
  begin(1, millisecond);
  begin(31, 1000);
  EXPECT_FALSE(interest_.rests());
  begin(1, 0);
  EXPECT_TRUE(interest_.rests());
}

TEST_F(FileInterestTest, ARestIsShortAgainOnceReadingAheadHasHelped) {
  make_it_rest(0);
  interest_.was_seen(true, 0);
  interest_.was_seen(false, 0);
  interest_.begins(millisecond, 0);
  make_it_rest(0);
  EXPECT_EQ(wanted(1, 4 * millisecond), 1);
}

TEST_F(FileInterestTest, TasksAreInOrderFromTheFourthOnThatGoesOnWhereTheOneBeforeEnds) {
  for (std::uint64_t i = 0; i < 6; ++i) {
    EXPECT_EQ(interest_.wants({i * 4096, 4096}, 0), Wish::look);
    EXPECT_EQ(interest_.is_in_order(), i >= 3) << i;
  }
  EXPECT_EQ(interest_.wants({0, 4096}, 0), Wish::look);
  EXPECT_FALSE(interest_.is_in_order());
}

TEST_F(FileInterestTest, WhereTheSystemReadsAheadLittleOrderDoesNotCount) {
  FileInterest little({128 * kibibyte, 256 * kibibyte, 128 * kibibyte});
  FileInterest long_reads = little;
  for (std::uint64_t i = 0; i < 6; ++i) {
    EXPECT_EQ(little.wants({i * 4096, 4096}, 0), Wish::look);
    EXPECT_EQ(long_reads.wants({i * 256 * kibibyte, 256 * kibibyte}, 0), Wish::look);
  }
  EXPECT_FALSE(little.is_in_order());
  EXPECT_TRUE(long_reads.is_in_order());
}

TEST_F(FileInterestTest, AFileIsBeingReadWhileTasksFollowEachOtherClosely) {
  EXPECT_FALSE(interest_.is_being_read(100 * millisecond));
  interest_.begins(0, 100 * millisecond);
  EXPECT_FALSE(interest_.is_being_read(101 * millisecond)) << "one task is no sequence";
  interest_.begins(0, 101 * millisecond);
  EXPECT_TRUE(interest_.is_being_read(103 * millisecond));
  EXPECT_FALSE(interest_.is_being_read(104 * millisecond));
}

TEST_F(FileInterestTest, WritersOfAFileThatNothingReadsAreNotedNoMoreAfterSome) {
  for (int i = 0; i < 256; ++i) {
    EXPECT_TRUE(interest_.wants_writer());
  }
  EXPECT_FALSE(interest_.wants_writer());
  EXPECT_EQ(interest_.wants({0, 4096}, 0), Wish::look);
  EXPECT_TRUE(interest_.wants_writer());
  make_it_rest(0);
  EXPECT_FALSE(interest_.wants_writer()) << "nothing is read ahead then";
}

}  // namespace
}  // namespace dovetail::prefetching
