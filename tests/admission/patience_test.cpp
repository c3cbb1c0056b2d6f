// Nobody without constraint is kept out for ever: I/O tasks may wait for each other. And what is seen of those inside.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "admission/budget.hpp"
#include "admission/observed_thread.hpp"
#include "admission/patience.hpp"
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
  patience_.left(requests_.front(), 0.01);
  EXPECT_FALSE(over(0.019));
  EXPECT_FALSE(over(0.038));
  EXPECT_TRUE(over(0.04));
}

// A look costs the kernel more than a small task.
TEST_F(PatienceWithFourInside, LooksAtNobodyWhereTasksComeAndGo) {
  for (int i = 0; i < 60; ++i) {
    now_ += 0.01;
    EXPECT_FALSE(over(now_));
    patience_.left(requests_.at(inside_ - 4), 0.04);
    enter();
  }
  EXPECT_EQ(looks_, 0U);
  activity_ = Activity::has_transferred;
  const double begin = now_;
  EXPECT_NEAR(when_over(100) - begin, 1, 1e-9);
  EXPECT_LE(looks_, 4 * 51U) << "four tasks each time";
}

TEST_F(PatienceWithFourInside, KnowsHowLongATaskMayTake) {
  patience_.left(requests_.front(), 2);
  activity_ = Activity::has_transferred;
  EXPECT_NEAR(when_over(100), 8, 1e-9);
}

// The adaptive learner holds a type back, whose tasks then wait for one that has not entered.
TEST(Patience, AlsoWithTasksThatAreHeldBack) {
  static double asked_for = 0;
  static const Requester requester{.leaving = [](Request&) noexcept {},
                                   .activity = [](const Request&) noexcept { return Activity::has_transferred; },
                                   .wants_to_be_asked = [](Request&, double seconds) noexcept { asked_for = seconds; }};
  Budget budget("device");
  budget.set_requester(&requester);
  TaskType& type = budget.type({"write", "none", Direction::write}, 0, 64, 4);
  double now = 0;
  RequestList admitted;
  for (int i = 0; i < 400 && !type.held_back; ++i) {  // however many there are, a second each: more bring nothing
    std::vector<Request> some(static_cast<std::size_t>(1 + i % 8));
    for (Request& request : some) {
      request.type = &type;
      request.owner = &budget;
      budget.enter(request, now, admitted);
    }
    for (unsigned ended = 0; ended < some.size(); ++ended) {
      Request* const request = admitted.take();
      ASSERT_NE(request, nullptr);
      budget.leave(*request, {false, true, 1'000'000}, now += 1, admitted);
    }
  }
  ASSERT_TRUE(type.held_back);
  std::vector<Request> waiting(40);
  for (Request& request : waiting) {
    request.type = &type;
    request.owner = &budget;
    budget.enter(request, now, admitted);
  }
  const auto inside = [&] {
    return std::count_if(waiting.begin(), waiting.end(),
                         [](const Request& request) { return request.place == Request::Place::inside; });
  };
  EXPECT_LT(inside(), 40);
  for (int i = 0; i < 100'000 && inside() < 40; ++i) {
    ASSERT_GT(asked_for, 0);
    budget.ask_again(now += std::exchange(asked_for, 0), admitted);
  }
  EXPECT_EQ(inside(), 40);
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

// A write whose data is a page that is not there until this thread gives it.
TEST(ObservedThread, IsInADeviceCall) {
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
    EXPECT_EQ(::pwrite(fileno(file), page, size, 0), static_cast<ssize_t>(size));
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
