// Which requests are asked.
#include "comm/mpi/outstanding.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "fake_library.hpp"
#include "gtest/gtest.h"

namespace {
thread_local bool memory_is_used_up = false;
}  // namespace

// NOLINTNEXTLINE(misc-definitions-in-headers): the program's own
void* operator new(std::size_t size) {
  void* const made = memory_is_used_up ? nullptr : std::malloc(size);
  if (made == nullptr) {
    throw std::bad_alloc();
  }
  return made;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }

namespace dovetail::comm::mpi::test {
namespace {

class OutstandingTest : public testing::Test {
 protected:
  void add(int count) {
    for (int i = 0; i < count; ++i) {
      Operation* const made = make_operation();
      const int number = library_.begin();
      std::memcpy(made->request.data(), &number, sizeof number);
      outstanding_.add(library_, made);
    }
  }
  Operation* ask(unsigned looks = 1) {
    Looks allowed{.allowed = looks};
    Operation* const ended = outstanding_.ask(library_, allowed);
    taken_ = allowed.taken;
    return ended;
  }
  // The requests that have ended.
  static std::vector<int> numbers(Operation* ended) {
    std::vector<int> all;
    while (ended != nullptr) {
      Operation* const next = ended->next;
      int number = 0;
      std::memcpy(&number, ended->request.data(), sizeof number);
      all.push_back(number);
      drop(ended);
      ended = next;
    }
    std::sort(all.begin(), all.end());
    return all;
  }
  ~OutstandingTest() override { numbers(outstanding_.take_all()); }

  FakeLibrary library_{20'000};
  Outstanding outstanding_;
  unsigned taken_ = 0;
};

TEST_F(OutstandingTest, TheNewestAreAskedAtOnce) {
  add(10'000);
  library_.end(9'999);
  library_.end(9'950);
  EXPECT_EQ(numbers(ask()), (std::vector<int>{9'950, 9'999}));
  EXPECT_EQ(outstanding_.size(), 9'998U);
}

TEST_F(OutstandingTest, ALookCostsNoMoreForManyThatWait) {
  add(10'000);
  for (int look = 0; look < 100; ++look) {
    EXPECT_EQ(numbers(ask()), std::vector<int>());
  }
  EXPECT_LE(library_.asked(), 100 * 2 * Outstanding::window);
}

TEST_F(OutstandingTest, SaysHowManyLooksItHasTaken) {
  add(10);
  ask(16);
  EXPECT_EQ(taken_, 1U) << "there is no more";
  add(static_cast<int>(3 * Outstanding::window));
  ask(2);
  EXPECT_EQ(taken_, 2U);
  ask(16);
  EXPECT_EQ(taken_, 3U);
  add(10'000);
  ask(16);
  EXPECT_EQ(taken_, 16U);
  const std::size_t before = library_.asked();
  ask(1);
  EXPECT_EQ(taken_, 1U);
  EXPECT_EQ(library_.asked() - before, 2 * Outstanding::window);
}

TEST_F(OutstandingTest, EachIsAskedInARound) {
  add(10'000);
  for (const int number : {0, 63, 64, 5'000, 9'935}) {
    library_.end(number);
    int looks = 0;
    std::vector<int> ended;
    while (ended.empty()) {
      ended = numbers(ask());
      ++looks;
    }
    EXPECT_EQ(ended, std::vector<int>{number});
    EXPECT_LE(looks, 10'000 / static_cast<int>(Outstanding::window) + 2);
  }
}

TEST_F(OutstandingTest, WhileSomethingIsFoundMoreAreAsked) {
  add(600);
  for (int number = 0; number < 600; ++number) {
    library_.end(number);
  }
  EXPECT_EQ(numbers(ask()).size(), 8 * Outstanding::window);
  EXPECT_EQ(numbers(ask()).size(), 600 - 8 * Outstanding::window);
  EXPECT_TRUE(outstanding_.size() == 0);
}

TEST_F(OutstandingTest, WhatHasNoMemoryForItsPlaceIsAskedAllTheSame) {
  add(static_cast<int>(Outstanding::window));
  std::array<Operation*, 3> more{make_operation(), make_operation(), make_operation()};
  memory_is_used_up = true;
  for (Operation* operation : more) {
    const int number = library_.begin();
    std::memcpy(operation->request.data(), &number, sizeof number);
    outstanding_.add(library_, operation);
  }
  Operation* const none = ask();
  library_.end(65);
  Operation* const ended = ask();
  memory_is_used_up = false;
  EXPECT_EQ(outstanding_.size(), Outstanding::window);
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(numbers(ended), std::vector<int>{65});
  std::size_t visited = 0;
  outstanding_.for_each([&](const Operation&) { ++visited; });
  EXPECT_EQ(visited, Outstanding::window + 2);

  EXPECT_EQ(ask(), nullptr);
  EXPECT_EQ(outstanding_.size(), Outstanding::window + 2) << "there is memory again";
  library_.end(64);
  library_.end(66);
  EXPECT_EQ(numbers(ask()), (std::vector<int>{64, 66}));
}

// Against a model: any may end between two looks, and more are added.
TEST_F(OutstandingTest, NoneIsLostOrToldTwice) {
  std::vector<int> told;
  std::uint64_t random = 12345;
  const auto below = [&random](std::uint64_t limit) {
    random = random * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<int>((random >> 33) % limit);
  };
  int added = 0;
  std::vector<int> running;
  while (told.size() < 5'000) {
    const int more = added < 5'000 ? std::min(below(100), 5'000 - added) : 0;
    add(more);
    for (int i = 0; i < more; ++i) {
      running.push_back(added++);
    }
    for (int i = below(40); i > 0 && !running.empty(); --i) {
      const auto place = running.begin() + below(running.size());
      library_.end(*place);
      *place = running.back();
      running.pop_back();
    }
    const std::vector<int> ended = numbers(ask());
    told.insert(told.end(), ended.begin(), ended.end());
    ASSERT_EQ(outstanding_.size(), static_cast<std::size_t>(added) - told.size());
  }
  std::sort(told.begin(), told.end());
  for (int i = 0; i < 5'000; ++i) {
    ASSERT_EQ(told[static_cast<std::size_t>(i)], i);
  }
}

}  // namespace
}  // namespace dovetail::comm::mpi::test
