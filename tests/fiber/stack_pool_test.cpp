#include "fiber/stack_pool.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <set>
#include <system_error>
#include <thread>

#include "base/sanitizer.hpp"

namespace dovetail::fiber {
namespace {

TEST(StackPoolTest, SizesAreRoundedUpToPages) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  EXPECT_EQ(StackPool(1).stack_size(), page);
  EXPECT_EQ(StackPool(page).stack_size(), page);
  EXPECT_EQ(StackPool(page + 1).stack_size(), 2 * page);
}

TEST(StackPoolTest, StacksDoNotOverlapAndAreUsable) {
  StackPool pool(16 * 1024);
  std::vector<Stack> stacks;
  for (int i = 0; i < 100; ++i) {
    stacks.push_back(pool.acquire());
    EXPECT_GE(stacks.back().size, pool.stack_size());
    EXPECT_EQ(stacks.back().bottom(), stacks.back().lowest + stacks.back().size);
    std::memset(stacks.back().lowest, i, stacks.back().size);
  }
  EXPECT_GE(pool.made(), 100U);
  for (int i = 0; i < 100; ++i) {
    const Stack& stack = stacks[static_cast<std::size_t>(i)];
    EXPECT_TRUE(std::all_of(stack.lowest, stack.bottom(), [&](std::byte byte) { return byte == std::byte(i); }));
    pool.release(stack);
  }
}

// What they use first would else lie in the same places of the cache.
TEST(StackPoolTest, NeighboursBeginAtDifferentPlacesOfAPage) {
  StackPool pool(16 * 1024);
  std::set<std::uintptr_t> places;
  for (int i = 0; i < 8; ++i) {
    const auto bottom = reinterpret_cast<std::uintptr_t>(pool.acquire().bottom());
    EXPECT_EQ(bottom % 64, 0U);
    places.insert(bottom % static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE)));
  }
  EXPECT_EQ(places.size(), 8U);
}

TEST(StackPoolTest, StacksAreUsedAgain) {
  StackPool pool(16 * 1024);
  for (int i = 0; i < 1'000; ++i) {
    const Stack first = pool.acquire();
    const Stack second = pool.acquire();
    EXPECT_NE(first.lowest, second.lowest);
    pool.release(first);
    pool.release(second);
  }
  EXPECT_LE(pool.made(), 64U);
}

TEST(StackPoolTest, AnIdleStackCanBeUsedWhetherItsMemoryWasGivenBackOrNot) {
  StackPool pool(16 * 1024);
  std::vector<Stack> stacks(600);
  for (int round = 0; round < 2; ++round) {
    for (Stack& stack : stacks) {
      stack = pool.acquire();
      std::memset(stack.lowest, 1, stack.size);
    }
    for (const Stack& stack : stacks) {
      pool.release(stack);
    }
  }
}

TEST(StackPoolTest, KnowsItsGuards) {
  StackPool pool(16 * 1024);
  const Stack stack = pool.acquire();
  EXPECT_TRUE(StackPool::in_guard(stack, stack.lowest - 1));
  EXPECT_TRUE(StackPool::in_guard(stack, stack.lowest - StackPool::guard_bytes));
  EXPECT_FALSE(StackPool::in_guard(stack, stack.lowest - StackPool::guard_bytes - 1));
  EXPECT_FALSE(StackPool::in_guard(stack, stack.lowest));
  EXPECT_FALSE(StackPool::in_guard(stack, stack.bottom() - 1));
  EXPECT_FALSE(StackPool::in_guard(stack, nullptr));
  EXPECT_FALSE(StackPool::is_below(nullptr, stack.lowest)) << "there is no stack";
  pool.release(stack);
}

// A frame with large arrays is entered without touching what lies between.
TEST(StackPoolTest, AGuardIsTooLargeToStepOver) {
  EXPECT_GE(StackPool::guard_bytes, 1'000'000U);
  StackPool pool(16 * 1024);
  std::vector<Stack> stacks;
  for (int i = 0; i < 40; ++i) {
    stacks.push_back(pool.acquire());
  }
  for (const Stack& stack : stacks) {
    const std::byte* const end_of_guard = stack.lowest - StackPool::guard_bytes;
    EXPECT_TRUE(std::none_of(stacks.begin(), stacks.end(), [&](const Stack& other) {
      return other.bottom() > end_of_guard && other.lowest < stack.lowest;
    }));
  }
}

// On kernels with guards that need no mapping, and as on older ones.
class StackPoolGuardTest : public testing::TestWithParam<bool> {
 protected:
  StackPoolGuardTest() { StackPool::guards_without_mapping = GetParam(); }
  ~StackPoolGuardTest() override { StackPool::guards_without_mapping = true; }
};
INSTANTIATE_TEST_SUITE_P(Kernels, StackPoolGuardTest, testing::Bool(),
                         [](const auto& kernel) { return kernel.param ? "New" : "Old"; });

TEST_P(StackPoolGuardTest, MoreStacksThanThereAreGuardsWithMappings) {
#if DOVETAIL_ADDRESS_SANITIZER || DOVETAIL_THREAD_SANITIZER
  GTEST_SKIP() << "a sanitizer needs its address space";
#endif
  StackPool pool(16 * 1024);
  std::vector<Stack> stacks(StackPool::most_mapped_guards + 2'000);
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    stacks[i] = pool.acquire();
    *stacks[i].lowest = std::byte(i);
    *(stacks[i].bottom() - 1) = std::byte(i);
  }
  if (!GetParam()) {
    *(stacks.back().lowest - 1) = std::byte{1};  // an overflow where guards have run out
  }
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    ASSERT_EQ(*stacks[i].lowest, std::byte(i));
    ASSERT_EQ(*(stacks[i].bottom() - 1), std::byte(i));
    pool.release(stacks[i]);
  }
}

TEST_P(StackPoolGuardTest, TouchingAGuardIsAFault) {
#if DOVETAIL_ADDRESS_SANITIZER || DOVETAIL_THREAD_SANITIZER
  GTEST_SKIP() << "the sanitizer reports the fault in its own way";
#endif
  StackPool pool(16 * 1024);
  for (int i = 0; i < 20; ++i) {  // more than are made together
    const Stack stack = pool.acquire();
    const std::size_t distance = i % 2 == 0 ? 1 : StackPool::guard_bytes - 1;
    const pid_t child = fork();
    if (child == 0) {
      std::signal(SIGSEGV, SIG_DFL);
      *const_cast<volatile std::byte*>(stack.lowest - distance) = std::byte{1};
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), SIGSEGV);
  }
}

TEST(StackPoolTest, NoMemoryIsAnErrorThatSaysWhatToDo) {
#if DOVETAIL_ADDRESS_SANITIZER || DOVETAIL_THREAD_SANITIZER
  GTEST_SKIP() << "a sanitizer needs its address space";
#endif
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{256UL << 20, 256UL << 20};
    setrlimit(RLIMIT_AS, &limit);
    StackPool pool(1 << 20);
    std::vector<Stack> stacks;
    try {
      for (;;) {
        stacks.push_back(pool.acquire());
      }
    } catch (const std::system_error& error) {
      const bool says = std::string(error.what()).find("vm.max_map_count") != std::string::npos;
      // What was given is still good, and what comes back can be had again.
      const Stack last = stacks.back();
      pool.release(last);
      const bool again = pool.acquire().lowest == last.lowest;
      _exit(says && again && error.code().value() == ENOMEM && !stacks.empty() ? 42 : 1);
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 42);
}

TEST(StackPoolTest, FromManyThreads) {
  StackPool pool(16 * 1024);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::vector<Stack> mine;
      for (int i = 0; i < 2'000; ++i) {
        if (i % 3 != 2 || mine.empty()) {
          mine.push_back(pool.acquire());
          *mine.back().lowest = std::byte(t);
        } else {
          EXPECT_EQ(*mine.back().lowest, std::byte(t));
          pool.release(mine.back());
          mine.pop_back();
        }
        if (mine.size() > 50) {
          for (const Stack& stack : mine) {
            EXPECT_EQ(*stack.lowest, std::byte(t));
            pool.release(stack);
          }
          mine.clear();
        }
      }
      for (const Stack& stack : mine) {
        pool.release(stack);
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
}

}  // namespace
}  // namespace dovetail::fiber
