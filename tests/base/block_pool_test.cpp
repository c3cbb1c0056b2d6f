#include "base/block_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <latch>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace dovetail::base {
namespace {

// Of the places for pools, those that no room uses. Pools live as long as the process, as those of the rooms do.
BlockPool& pool() {
  static auto& instance = *new BlockPool(8, 192);
  return instance;
}

TEST(BlockPoolTest, BlocksAreAlignedAndDoNotOverlap) {
  std::vector<void*> blocks;
  for (int i = 0; i < 5'000; ++i) {
    void* block = pool().allocate();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 64, 0U);
    std::memset(block, i, 192);
    blocks.push_back(block);
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto* bytes = static_cast<const unsigned char*>(blocks[i]);
    ASSERT_TRUE(std::all_of(bytes, bytes + 192, [&](unsigned char byte) { return byte == (i & 255U); })) << i;
  }
  for (void* block : blocks) {
    pool().deallocate(block);
  }
  EXPECT_EQ(pool().block_size(), 192U);
}

TEST(BlockPoolTest, MemoryIsUsedAgain) {
  auto count_blocks = [] {
    std::size_t count = 0;
    pool().for_each_block([&](void*) { ++count; });
    return count;
  };
  std::vector<void*> blocks(1'000);
  for (int round = 0; round < 3; ++round) {
    for (void*& block : blocks) {
      block = pool().allocate();
    }
    for (void* block : blocks) {
      pool().deallocate(block);
    }
  }
  for (void*& block : blocks) {
    block = pool().allocate();
  }
  const std::size_t before = count_blocks();
  for (int round = 0; round < 20; ++round) {
    for (void* block : blocks) {
      pool().deallocate(block);
    }
    for (void*& block : blocks) {
      block = pool().allocate();
    }
  }
  EXPECT_EQ(count_blocks(), before);
  for (void* block : blocks) {
    pool().deallocate(block);
  }
}

TEST(BlockPoolTest, VisitsAllThatIsHandedOut) {
  std::vector<void*> blocks(3'000);
  for (void*& block : blocks) {
    block = pool().allocate();
  }
  std::set<void*> seen;
  pool().for_each_block([&](void* block) { EXPECT_TRUE(seen.insert(block).second); });
  for (void* block : blocks) {
    EXPECT_TRUE(seen.contains(block));
    pool().deallocate(block);
  }
}

TEST(BlockPoolTest, OneThreadMakesAnotherDestroys) {
  constexpr int threads = 4;
  constexpr int rounds = 200;
  struct Mailbox {
    std::mutex mutex;
    std::vector<void*> blocks;
  };
  std::vector<Mailbox> mailboxes(threads);
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&, t] {
      for (int round = 0; round < rounds; ++round) {
        std::vector<void*> made;
        for (int i = 0; i < 1 + round % 150; ++i) {
          made.push_back(pool().allocate());
          std::memset(made.back(), t, 192);
        }
        {
          Mailbox& next = mailboxes[static_cast<std::size_t>((t + 1) % threads)];
          const std::lock_guard lock(next.mutex);
          next.blocks.insert(next.blocks.end(), made.begin(), made.end());
        }
        std::vector<void*> received;
        {
          Mailbox& own = mailboxes[static_cast<std::size_t>(t)];
          const std::lock_guard lock(own.mutex);
          received.swap(own.blocks);
        }
        for (void* block : received) {
          EXPECT_EQ(*static_cast<unsigned char*>(block), (t + threads - 1) % threads);
          pool().deallocate(block);
        }
      }
    });
  }
  for (auto& thread : all) {
    thread.join();
  }
  for (Mailbox& mailbox : mailboxes) {
    for (void* block : mailbox.blocks) {
      pool().deallocate(block);
    }
  }
}

TEST(BlockPoolTest, WhatAThreadKeptIsThereForOthersWhenItEnds) {
  auto count_blocks = [] {
    std::size_t count = 0;
    pool().for_each_block([&](void*) { ++count; });
    return count;
  };
  auto use = [] {
    std::vector<void*> blocks(500);
    for (void*& block : blocks) {
      block = pool().allocate();
    }
    for (void* block : blocks) {
      pool().deallocate(block);
    }
  };
  std::thread(use).join();
  std::thread(use).join();
  const std::size_t before = count_blocks();
  for (int i = 0; i < 50; ++i) {
    std::thread(use).join();
  }
  EXPECT_LE(count_blocks(), before + 100) << "a thread costs no memory for good";
}

// Destroyed after, or before, whatever the pool keeps for the thread: the order is not known.
struct FreesAtTheEndOfTheThread {
  void* block = nullptr;
  ~FreesAtTheEndOfTheThread() {
    if (block != nullptr) {
      pool().deallocate(block);
      pool().deallocate(pool().allocate());
    }
  }
};
thread_local FreesAtTheEndOfTheThread late;

TEST(BlockPoolTest, ThreadLocalsMayFreeLate) {
  for (int i = 0; i < 20; ++i) {
    std::thread([] {
      late.block = nullptr;  // made before the pool is used, hence destroyed after what it keeps
      late.block = pool().allocate();
    }).join();
  }
}

}  // namespace
}  // namespace dovetail::base
