// The table of regions by itself: when it matches exactly, when it must not, and that it stays small.
#include "tasking/region_table.hpp"

#include "base/sanitizer.hpp"
#include "support.hpp"
#include "tasking/dependency_node.hpp"
#include "tasking/task.hpp"

namespace dovetail::test {
namespace {

using tasking::DependencyNode;
using tasking::RegionTable;

// Tasks of which only the address matters, and whose records are closed by hand.
class RegionTableTest : public testing::Test {
 protected:
  struct Entered {
    DependencyNode* node;
    std::uint32_t dependencies;
  };
  ~RegionTableTest() override {
    for (DependencyNode* node : open_) {
      close(node);
    }
    table_.clear();
  }
  Entered enter(std::uint64_t begin, std::uint64_t length, AccessMode mode) {
    tasks_.push_back(std::make_unique<Place>());
    auto* task = reinterpret_cast<detail::Task*>(tasks_.back().get());
    DependencyNode* const node = DependencyNode::make(task, records_);
    const Region region{0, begin, length};
    tasking::Exclusion* exclusion = nullptr;
    const std::uint32_t dependencies = table_.enter(region, table_.look_up(region), node->add(0, mode), exclusion);
    node->entered();
    open_.push_back(node);
    return {node, dependencies};
  }
  std::uint32_t write(std::uint64_t begin, std::uint64_t length) {
    return enter(begin, length, AccessMode::inout).dependencies;
  }
  std::uint32_t read(std::uint64_t begin, std::uint64_t length) {
    return enter(begin, length, AccessMode::in).dependencies;
  }
  // What completion of the task does.
  void close(DependencyNode* node) {
    node->close(nullptr, [](detail::Task*) {});
  }
  void close_all() {
    for (DependencyNode* node : open_) {
      close(node);
    }
    open_.clear();
  }

  struct alignas(64) Place {
    char bytes[128];
  };
  std::size_t records_ = 1;  // There is room for so many in a node.
  RegionTable table_;
  std::vector<std::unique_ptr<Place>> tasks_;
  std::vector<DependencyNode*> open_;
};

TEST_F(RegionTableTest, OnAGridItStaysExact) {
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t i = 0; i < 1'000; ++i) {
      EXPECT_EQ(write(64 * i, 64), round == 0 ? 0U : 1U);
    }
  }
  EXPECT_FALSE(table_.general());
  EXPECT_EQ(table_.size(), 1'000U);
}

TEST_F(RegionTableTest, SeveralGridsThatDoNotMeet) {
  EXPECT_EQ(write(0, 8), 0U);
  EXPECT_EQ(write(8, 8), 0U);
  EXPECT_EQ(write(1'000, 100), 0U);
  EXPECT_EQ(write(1'100, 100), 0U);
  EXPECT_EQ(write(5'003, 7), 0U);
  EXPECT_FALSE(table_.general());
  EXPECT_EQ(read(1'000, 100), 1U);
  EXPECT_FALSE(table_.general());
}

TEST_F(RegionTableTest, AnOverlapMakesItGeneral) {
  EXPECT_EQ(write(0, 64), 0U);
  EXPECT_EQ(write(64, 64), 0U);
  EXPECT_EQ(write(32, 64), 2U) << "waits for both that it overlaps";
  EXPECT_TRUE(table_.general());
  EXPECT_EQ(read(0, 1), 1U);
  EXPECT_GE(read(40, 1), 1U);
  EXPECT_EQ(write(127, 1), 1U);
  EXPECT_EQ(write(128, 64), 0U);
}

TEST_F(RegionTableTest, TheSameBeginWithAnotherLength) {
  EXPECT_EQ(write(0, 64), 0U);
  EXPECT_EQ(write(0, 32), 1U);
  EXPECT_EQ(write(32, 32), 1U);
  EXPECT_GE(write(0, 64), 2U);
  EXPECT_TRUE(table_.general());
}

TEST_F(RegionTableTest, GridsThatGrowIntoEachOther) {
  EXPECT_EQ(write(0, 64), 0U);
  EXPECT_EQ(write(1'000, 100), 0U);
  EXPECT_EQ(write(960, 64), 1U) << "on the first grid, and into the second";
  EXPECT_TRUE(table_.general());
}

TEST_F(RegionTableTest, MoreGridsThanItKeeps) {
  for (std::uint64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(write(10'000 * i + i, 10 + i), 0U);
  }
  for (std::uint64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(read(10'000 * i + i + 5, 1), 1U);
  }
}

TEST_F(RegionTableTest, ReadersWaitForTheWriterAndTheNextWriterForThem) {
  EXPECT_EQ(write(0, 8), 0U);
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(read(0, 8), 1U);
  }
  EXPECT_EQ(write(0, 8), 200U);
  EXPECT_EQ(write(0, 8), 1U);
}

TEST_F(RegionTableTest, WhatHasCompletedIsNotWaitedFor) {
  write(0, 8);
  read(0, 8);
  close_all();
  EXPECT_EQ(read(0, 8), 0U);
  EXPECT_EQ(write(0, 8), 1U);
  close_all();
  EXPECT_EQ(write(0, 8), 0U);
}

TEST_F(RegionTableTest, EverNewAddressesKeepASmallTable) {
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    write(64 * i, 64);
    if (i % 100 == 99) {
      close_all();
      tasks_.clear();
    }
  }
  EXPECT_LE(table_.size(), 1'000U);
  EXPECT_FALSE(table_.general());
}

TEST_F(RegionTableTest, EverNewAddressesKeepASmallGeneralTable) {
  write(0, 64);
  write(32, 64);
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    write(48 * i, 64);
    if (i % 100 == 99) {
      close_all();
      tasks_.clear();
    }
  }
  EXPECT_TRUE(table_.general());
  EXPECT_LE(table_.size(), 5'000U);
}

// The table lets go of each access that it forgets, and the memory of its task with it.
TEST_F(RegionTableTest, WhatIsForgottenNeedsNoMemory) {
#if DOVETAIL_ADDRESS_SANITIZER || DOVETAIL_THREAD_SANITIZER
  GTEST_SKIP() << "the sanitizer keeps what is freed";
#endif
  constexpr std::size_t accesses = 200'000;
  std::size_t before = 0;
  for (std::size_t i = 0; i < 2 * accesses; ++i) {
    i % 3 == 0 ? read(0, 64) : write(0, 64);
    close_all();
    tasks_.clear();
    before = i == accesses ? resident_bytes() : before;
  }
  EXPECT_LT(resident_bytes(), before + 8 * accesses);
}

// A general table is swept now and then. Entries in use stay in it.
TEST_F(RegionTableTest, ASweepKeepsWhatIsInUse) {
  constexpr std::uint64_t regions = 5'000;
  write(0, 64);
  write(32, 64);
  ASSERT_TRUE(table_.general());
  for (std::uint64_t i = 0; i < regions; ++i) {
    const DependencyNode* const last = enter(1'000 + 16 * i, 16, AccessMode::inout).node;
    if (i % 2 == 0) {
      close(open_.back());
      ASSERT_EQ(open_.back(), last);
      open_.pop_back();
    }
  }
  EXPECT_EQ(read(40, 1), 2U) << "of another length";
  for (std::uint64_t i = 0; i < regions; ++i) {
    ASSERT_EQ(write(1'000 + 16 * i, 16), i % 2) << i;
  }
}

TEST_F(RegionTableTest, ClearForgetsEverything) {
  write(0, 64);
  write(32, 64);
  close_all();
  table_.clear();
  EXPECT_FALSE(table_.general());
  EXPECT_EQ(table_.size(), 0U);
  EXPECT_EQ(write(0, 64), 0U);
}

// All accesses so far, looked at one by one.
class Oracle {
 public:
  // Whether the new access has to wait for any task that has not completed.
  bool waits(std::uint64_t begin, std::uint64_t length, AccessMode mode) {
    bool any = false;
    for (const Access& access : accesses_) {
      const bool meet = begin < access.begin + access.length && access.begin < begin + length;
      const bool both_read = mode == AccessMode::in && access.mode == AccessMode::in;
      const bool commute = mode == AccessMode::commutative && access.mode == AccessMode::commutative &&
                           begin == access.begin && length == access.length;
      any = any || (meet && !both_read && !commute);
    }
    accesses_.push_back({begin, length, mode});
    return any;
  }
  void close_all() { accesses_.clear(); }

 private:
  struct Access {
    std::uint64_t begin;
    std::uint64_t length;
    AccessMode mode;
  };
  std::vector<Access> accesses_;
};

// Regions of several grids, or any regions; what is waited for, where all tasks so far are open or have completed.
class RegionOracleTest : public RegionTableTest {
 protected:
  void compare(std::uint64_t stream, bool overlapping) {
    Random random(stream);
    Oracle oracle;
    for (int step = 0; step < 3'000; ++step) {
      const std::uint64_t grid = random.between(0, 4);
      std::uint64_t length = 8 + 24 * grid;
      std::uint64_t begin = (grid << 40) + 3 * grid + length * random.between(0, 40);
      if (overlapping && random.once_in(4)) {
        begin = (grid << 40) + random.between(0, 2'000);
        length = random.between(1, 300);
      }
      constexpr AccessMode modes[] = {AccessMode::in, AccessMode::in, AccessMode::out, AccessMode::inout,
                                      AccessMode::commutative};
      const AccessMode mode = modes[random.between(0, 4)];
      const bool expected = oracle.waits(begin, length, mode);
      ASSERT_EQ(enter(begin, length, mode).dependencies > 0, expected)
          << "step " << step << ", begin " << begin << ", length " << length << ", mode " << static_cast<int>(mode);
      if (random.once_in(50)) {
        close_all();
        oracle.close_all();
      }
    }
  }
};

TEST_F(RegionOracleTest, OnGrids) {
  compare(1, false);
  EXPECT_FALSE(table_.general());
}

TEST_F(RegionOracleTest, OverlappingAsTheyLike) {
  compare(2, true);
  EXPECT_TRUE(table_.general());
}

TEST_F(RegionOracleTest, RegionsAtTheEndsOfTheAddresses) {
  constexpr std::uint64_t last = ~std::uint64_t{0};
  EXPECT_EQ(write(last - 8, 8), 0U);
  EXPECT_EQ(write(last - 4, 100), 1U) << "no address is greater than the last one";
  EXPECT_EQ(write(0, 1), 0U);
  EXPECT_EQ(write(last, 1), 0U) << "the first byte is not behind the last one";
  EXPECT_EQ(write(0, last), 3U) << "all of them";
}

// Records of completed tasks are let go of, in every state of the table: rounds that are alike take no more memory.
TEST_F(RegionOracleTest, NothingOfACompletedTaskStays) {
  records_ = 16;  // too large for a pool, in which nodes that stay would be found only when it is empty
  const auto round = [&](bool overlapping) {
    for (std::uint64_t i = 0; i < 2'000; ++i) {
      constexpr AccessMode modes[] = {AccessMode::in, AccessMode::out, AccessMode::commutative, AccessMode::inout,
                                      AccessMode::commutative};
      enter(64 * (i % 50) + (overlapping && i % 7 == 0 ? 32 : 0), 64, modes[(i / 50 + i % 3) % 5]);
    }
    close_all();
    table_.clear();
    tasks_.clear();
    open_.shrink_to_fit();
    tasks_.shrink_to_fit();
  };
  for (const bool overlapping : {false, true}) {
    round(overlapping);
    const std::size_t before = allocated_bytes();
    for (int i = 0; i < 20; ++i) {
      round(overlapping);
    }
    // Twenty rounds leave more than that if each leaves one record in a hundred. Memory that malloc keeps for later
    // counts, too.
    EXPECT_LE(allocated_bytes(), before + 65'536) << "overlapping: " << overlapping;
  }
}

}  // namespace
}  // namespace dovetail::test
