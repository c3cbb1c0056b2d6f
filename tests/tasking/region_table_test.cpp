// The table of regions by itself: when it matches exactly, when it must not, and that it stays small.
#include "tasking/region_table.hpp"

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
    DependencyNode* const node = DependencyNode::make(task, 1);
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

TEST_F(RegionTableTest, ClearForgetsEverything) {
  write(0, 64);
  write(32, 64);
  close_all();
  table_.clear();
  EXPECT_FALSE(table_.general());
  EXPECT_EQ(table_.size(), 0U);
  EXPECT_EQ(write(0, 64), 0U);
}

}  // namespace
}  // namespace dovetail::test
