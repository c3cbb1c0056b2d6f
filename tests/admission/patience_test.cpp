// Nobody without constraint is kept out for ever by tasks that wait for each other. And what is seen of those inside.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "admission/alarm.hpp"
#include "admission/budget.hpp"
#include "admission/observed_thread.hpp"
#include "admission/patience.hpp"
#include "base/sanitizer.hpp"
#include "dovetail/dovetail.hpp"

namespace dovetail::admission::test {
namespace {

/// Tasks that all do the same, and one that is kept out from 0 s on.
class PatienceWithFourInside : public testing::Test {
 protected:
  PatienceWithFourInside() : requests_(64) {
    for (int i = 0; i < 4; ++i) {
      enter();
    }
  }

  void enter() { patience_.entered(requests_.at(inside_++)); }
  bool over(double now) {
    return patience_.over(now, [this](const Request&) {
      ++looks_;
      return activity_;
    });
  }
  /// When it is over, asked as often as it wants to be, but not after `end`.
  double when_over(double end) {
    while (now_ < end && !over(now_)) {
      EXPECT_GT(patience_.ask_after(now_), 0);
      now_ += patience_.ask_after(now_);
    }
    return now_;
  }

  Patience patience_;
  Activity activity_ = Activity::waits;
  std::vector<Request> requests_;
  std::size_t inside_ = 0;
  std::size_t looks_ = 0;
  double now_ = 0;
};

TEST_F(PatienceWithFourInside, IsShortIfNothingIsSeenOfThem) { EXPECT_NEAR(when_over(1), 0.02, 1e-9); }

TEST_F(PatienceWithFourInside, IsLongerIfTheyHaveTransferred) {
  activity_ = Activity::has_transferred;
  EXPECT_NEAR(when_over(100), 1, 1e-9);
}

TEST_F(PatienceWithFourInside, IsLongerIfTheyCompute) {
  activity_ = Activity::computes;
  EXPECT_NEAR(when_over(100), 1, 1e-9);
}

TEST_F(PatienceWithFourInside, HasNoEndWhileTheDeviceIsUsed) {
  activity_ = Activity::uses_device;
  EXPECT_GE(when_over(1000), 1000);
  activity_ = Activity::has_transferred;
  EXPECT_NEAR(when_over(2000), 1001, 0.2) << "it begins when that is over";
}

TEST_F(PatienceWithFourInside, LetsTwiceAsManyInAndTakesTwiceAsLongThen) {
  double expected = 0;
  double longer = 0.02;
  for (std::size_t twice = 8; twice <= 64; twice *= 2) {
    expected += longer;
    longer *= 2;
    EXPECT_NEAR(when_over(10), expected, 1e-9);
    while (inside_ < twice) {
      ASSERT_TRUE(over(now_)) << inside_;
      enter();
    }
    EXPECT_FALSE(over(now_));
  }
}

TEST_F(PatienceWithFourInside, BeginsAnewWhenSomebodyLeaves) {
  EXPECT_FALSE(over(0));
  patience_.left(requests_.front(), -0.01, 0);
  EXPECT_FALSE(over(0.019));
  EXPECT_FALSE(over(0.038));
  EXPECT_TRUE(over(0.04));
}

// A look costs the kernel more than a small task.
TEST_F(PatienceWithFourInside, LooksAtNobodyWhereTasksComeAndGo) {
  for (int i = 0; i < 60; ++i) {
    now_ += 0.01;
    EXPECT_FALSE(over(now_));
    patience_.left(requests_.at(inside_ - 4), now_ - 0.04, now_);
    enter();
  }
  EXPECT_EQ(looks_, 0U);
  activity_ = Activity::has_transferred;
  const double begin = now_;
  EXPECT_NEAR(when_over(100) - begin, 1, 1e-9);
  EXPECT_LE(looks_, 4 * 51U) << "four tasks each time";
}

TEST_F(PatienceWithFourInside, KnowsHowLongATaskMayTake) {
  patience_.left(requests_.front(), -2, 0);
  activity_ = Activity::has_transferred;
  EXPECT_NEAR(when_over(100), 8, 1e-9);
}

TEST_F(PatienceWithFourInside, DoesNotLearnFromThoseWhoWaitedForIt) {
  activity_ = Activity::has_transferred;
  for (int round = 0; round < 5; ++round) {
    const double begin = now_;
    EXPECT_NEAR(when_over(begin + 100) - begin, 1, 1e-9) << round;
    for (std::size_t i = 4; i-- > 0;) {
      patience_.left(requests_.at(inside_ - 4 + i), begin, now_);
    }
    for (int i = 0; i < 4; ++i) {
      enter();
    }
  }
}

TEST_F(PatienceWithFourInside, LooksAtWhoeverIsInside) {
  while (inside_ < 12) {
    enter();
  }
  for (std::size_t i = 0; i < 11; ++i) {
    patience_.left(requests_.at(i), 0, 0.001);
  }
  activity_ = Activity::uses_device;
  EXPECT_GE(when_over(10), 10);
}

/// A budget whose tasks all do the same, and that asks this.
class BudgetWithPatience : public testing::Test {
 protected:
  BudgetWithPatience() {
    static const Requester requester{.leaving = [](Request&) noexcept {},
                                     .activity =
                                         [](const Request& request) noexcept {
                                           return &request == uses_device ? Activity::uses_device : of_the_others;
                                         },
                                     .wants_to_be_asked =
                                         [](Request&, double seconds) noexcept {
                                           asked_after = seconds;
                                           return can_be_asked;
                                         }};
    uses_device = nullptr;
    of_the_others = Activity::waits;
    asked_after = 0;
    can_be_asked = true;
    budget_.set_requester(&requester);
  }

  void enter(TaskType& type, std::vector<Request>& requests, int priority = 0) {
    for (Request& request : requests) {
      request.type = &type;
      request.owner = &budget_;
      request.priority = priority;
      budget_.enter(request, now_, admitted_);
    }
  }
  static std::ptrdiff_t inside(const std::vector<Request>& requests) {
    return std::count_if(requests.begin(), requests.end(),
                         [](const Request& request) { return request.place == Request::Place::inside; });
  }

  static inline const Request* uses_device;
  static inline Activity of_the_others;
  static inline double asked_after;
  static inline bool can_be_asked;
  Budget budget_{"device"};
  TaskType& free_ = budget_.type({"free", "none", Direction::write}, 0, 64, 4);
  RequestList admitted_;
  double now_ = 0;
};

// What it has asked for may never come: the runtime of those who waited has ended, say.
TEST_F(BudgetWithPatience, AsksAgainWhenNobodyHasAskedInTime) {
  std::vector<Request> first(5);
  enter(free_, first);
  EXPECT_GT(std::exchange(asked_after, 0), 0);
  for (Request& request : first) {
    budget_.leave(request, {true}, now_ += 0.001, admitted_);
  }
  now_ += 10;
  std::vector<Request> second(5);
  enter(free_, second);
  EXPECT_EQ(inside(second), 4);
  EXPECT_GT(asked_after, 0);
}

TEST_F(BudgetWithPatience, KeepsNobodyOutIfNobodyCanAsk) {
  can_be_asked = false;
  std::vector<Request> requests(40);
  enter(free_, requests);
  EXPECT_EQ(inside(requests), 40);
}

TEST_F(BudgetWithPatience, WhoHasAConstraintDoesNotKeepTheOthersOut) {
  TaskType& adaptive = budget_.type({"adaptive", "adaptive", Direction::write}, 0, 64, 4);
  std::vector<Request> waiting(12);
  enter(free_, waiting);
  std::vector<Request> urgent(1);
  enter(adaptive, urgent, 1);
  for (int i = 0; i < 100 && inside(waiting) < 12; ++i) {
    ASSERT_GT(asked_after, 0);
    budget_.ask_again(now_ += std::exchange(asked_after, 0), admitted_);
  }
  EXPECT_EQ(inside(waiting), 12);
  EXPECT_EQ(inside(urgent), 0);
}

TEST_F(BudgetWithPatience, SeesThatTasksWithAConstraintUseTheDevice) {
  TaskType& fixed = budget_.type({"fixed", 100.0, Direction::write}, 100, 64, 4);
  std::vector<Request> large(1);
  enter(fixed, large);
  std::vector<Request> waiting(6);
  enter(free_, waiting);
  EXPECT_EQ(inside(waiting), 4);
  uses_device = &large.front();
  for (int i = 0; i < 100; ++i) {
    ASSERT_GT(asked_after, 0);
    budget_.ask_again(now_ += std::exchange(asked_after, 0), admitted_);
  }
  EXPECT_EQ(inside(waiting), 4);
}

// The adaptive learner holds a type back, whose tasks then wait for one that has not entered.
TEST_F(BudgetWithPatience, LetsThoseInWhoAreHeldBack) {
  of_the_others = Activity::has_transferred;
  for (std::size_t i = 0; i < 400 && !free_.held_back;
       ++i) {  // however many there are, a second each: more bring nothing
    std::vector<Request> some(1 + i % 8);
    enter(free_, some);
    for (std::size_t ended = 0; ended < some.size(); ++ended) {
      Request* const request = admitted_.take();
      ASSERT_NE(request, nullptr);
      budget_.leave(*request, {false, true, 1'000'000}, now_ += 1, admitted_);
    }
  }
  ASSERT_TRUE(free_.held_back);
  std::vector<Request> waiting(40);
  enter(free_, waiting);
  EXPECT_LT(inside(waiting), 40);
  for (int i = 0; i < 100'000 && inside(waiting) < 40; ++i) {
    ASSERT_GT(asked_after, 0);
    budget_.ask_again(now_ += std::exchange(asked_after, 0), admitted_);
  }
  EXPECT_EQ(inside(waiting), 40);
}

// With the time that it takes until more than four may be inside twice.
TEST(Patience, TasksThatHaveWrittenMayWaitForEachOther) {
  alarm(120);
  constexpr int together = 12;
  Runtime runtime({.workers = 2});
  std::barrier all(together);
  for (int i = 0; i < together; ++i) {
    runtime.spawn({.label = "write and meet", .io = true, .device = "*"}, [&] {
      std::FILE* const file = std::tmpfile();
      const std::vector<char> data(65536, 'x');
      EXPECT_EQ(std::fwrite(data.data(), 1, data.size(), file), data.size());
      std::fclose(file);
      all.arrive_and_wait();
    });
  }
  runtime.wait();
  alarm(0);
}

// Workers keep no time while their tasks wait outside of Dovetail.
TEST(Patience, WorksWhileAllWorkersAreBlocked) {
  alarm(120);
  constexpr int together = 12;
  Runtime runtime({.workers = 1});
  std::barrier all(together + 1);
  std::promise<void> spawned;
  runtime.spawn({.label = "blocks"}, [&] {
    spawned.get_future().get();
    all.arrive_and_wait();
  });
  for (int i = 0; i < together; ++i) {
    runtime.spawn({.label = "meet a worker", .io = true, .device = "*"}, [&] { all.arrive_and_wait(); });
  }
  spawned.set_value();
  runtime.wait();
  alarm(0);
}

bool rings() {
  const auto rung = std::make_shared<std::promise<void>>();
  return call_later(0.001, [rung] { rung->set_value(); }) &&
         rung->get_future().wait_for(std::chrono::seconds(100)) == std::future_status::ready;
}

TEST(Alarm, TheChildOfAForkHasOneOfItsOwn) {
#ifdef DOVETAIL_THREAD_SANITIZER
  GTEST_SKIP() << "ThreadSanitizer refuses threads in the child of a fork from several";
#endif
  ASSERT_TRUE(rings());
  const pid_t child = fork();
  if (child == 0) {
    _exit(rings() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(rings());
}

/// A thread that does one thing, looked at while it does.
ObservedThread::State state_while(const std::function<void(std::promise<void>& begun)>& body,
                                  const std::function<void()>& end, ObservedThread::State awaited) {
  std::promise<std::shared_ptr<ObservedThread>> made;
  std::promise<void> begun;
  std::thread thread([&] {
    made.set_value(ObservedThread::self());
    body(begun);
  });
  const std::shared_ptr<ObservedThread> observed = made.get_future().get();
  begun.get_future().get();
  ObservedThread::State state = observed->state();
  for (int i = 0; i < 1'000'000 && state != awaited; ++i) {
    std::this_thread::yield();  // it may not have come to it
    state = observed->state();
  }
  end();
  thread.join();
  return state;
}

TEST(ObservedThread, Runs) {
  std::atomic<bool> stop{false};
  const auto spin = [&](std::promise<void>& begun) {
    begun.set_value();
    while (!stop) {
    }
  };
  EXPECT_EQ(state_while(spin, [&] { stop = true; }, ObservedThread::State::runs), ObservedThread::State::runs);
}

TEST(ObservedThread, WaitsForAnotherThread) {
  std::promise<void> go;
  const auto wait = [&](std::promise<void>& begun) {
    begun.set_value();
    go.get_future().get();
  };
  EXPECT_EQ(state_while(wait, [&] { go.set_value(); }, ObservedThread::State::waits), ObservedThread::State::waits);
}

TEST(ObservedThread, WaitsForAnotherThreadInARead) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  char byte = 0;
  const auto wait = [&](std::promise<void>& begun) {
    begun.set_value();
    EXPECT_EQ(::read(ends[0], &byte, 1), 1);
  };
  const auto end = [&] { EXPECT_EQ(::write(ends[1], "x", 1), 1); };
  EXPECT_EQ(state_while(wait, end, ObservedThread::State::waits), ObservedThread::State::waits);
  close(ends[0]);
  close(ends[1]);
}

// A write whose data is a page that is not there until this thread gives it.
class WriteOfAMissingPage : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(PlacedAndNot, WriteOfAMissingPage, testing::Bool());

TEST_P(WriteOfAMissingPage, IsADeviceCall) {
  const int faults = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC));
  uffdio_api interface{UFFD_API, 0, 0};
  if (faults < 0 || ioctl(faults, UFFDIO_API, &interface) != 0) {
    GTEST_SKIP() << "the kernel gives no userfaultfd to this user";
  }
  const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const page = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const uffdio_range range{reinterpret_cast<std::uintptr_t>(page), size};
  uffdio_register missing{range, UFFDIO_REGISTER_MODE_MISSING, 0};
  ASSERT_EQ(ioctl(faults, UFFDIO_REGISTER, &missing), 0);
  std::FILE* const file = std::tmpfile();
  const auto write = [&](std::promise<void>& begun) {
    begun.set_value();
    const ssize_t written = GetParam() ? ::pwrite(fileno(file), page, size, 0) : ::write(fileno(file), page, size);
    EXPECT_EQ(written, static_cast<ssize_t>(size));
  };
  const auto give = [&] {
    uffdio_zeropage zeros{range, 0, 0};
    EXPECT_EQ(ioctl(faults, UFFDIO_ZEROPAGE, &zeros), 0);
  };
  EXPECT_EQ(state_while(write, give, ObservedThread::State::in_device_call), ObservedThread::State::in_device_call);
  std::fclose(file);
  munmap(page, size);
  close(faults);
}

TEST(ObservedThread, CountsBytesForWhoeverAsksAndNotTheAsking) {
  std::promise<std::shared_ptr<ObservedThread>> made;
  std::promise<void> go;
  std::thread thread([&] {
    made.set_value(ObservedThread::self());
    go.get_future().get();
    std::FILE* const file = std::tmpfile();
    const std::vector<char> data(10'000, 'x');
    EXPECT_EQ(::pwrite(fileno(file), data.data(), data.size(), 0), 10'000);
    const auto own = ObservedThread::self()->transferred_bytes();
    EXPECT_EQ(own, ObservedThread::self()->transferred_bytes());
    std::fclose(file);
    made = {};
  });
  const std::shared_ptr<ObservedThread> observed = made.get_future().get();
  const auto before = observed->transferred_bytes();
  const auto mine = ObservedThread::self()->transferred_bytes();
  if (!before || !mine) {
    go.set_value();
    thread.join();
    GTEST_SKIP() << "the kernel does not count";
  }
  EXPECT_EQ(observed->transferred_bytes(), before);
  EXPECT_EQ(ObservedThread::self()->transferred_bytes(), mine);
  go.set_value();
  thread.join();
  EXPECT_EQ(observed->transferred_bytes(), std::nullopt) << "it has ended";
  EXPECT_EQ(observed->state(), ObservedThread::State::waits);
}

}  // namespace
}  // namespace dovetail::admission::test
