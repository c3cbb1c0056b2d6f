// Switching between fibers: order, values, exceptions, going on on another thread.
#include <gtest/gtest.h>

#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "fiber/fiber.hpp"

namespace dovetail::fiber {
namespace {

void nothing(void*) {}

// A fiber with a body; it goes back to the fiber that switched to it, by hand and at its end.
class Worker {
 public:
  using Body = void (*)(Worker&);
  Worker(StackPool& pool, Body body, void* its_data = nullptr)
      : data(its_data), body_(body), fiber_(pool.acquire(), &Worker::main, this) {}

  void enter() {
    Fiber here;
    caller_ = &here;
    here.switch_to(fiber_, &Worker::count, this);
    caller_ = nullptr;
  }
  void leave() { fiber_.switch_to(*caller_, &nothing, nullptr); }

  void* data;
  bool done = false;
  int arrivals = 0;

 private:
  static void count(void* self) { ++static_cast<Worker*>(self)->arrivals; }
  static void main(void* argument) {
    auto& self = *static_cast<Worker*>(argument);
    self.body_(self);
    self.done = true;
    self.leave();
  }

  Body body_;
  Fiber* caller_ = nullptr;
  Fiber fiber_;
};

TEST(SwitchTest, BackAndForth) {
  StackPool pool(64 * 1024);
  std::vector<int> order;
  Worker worker(
      pool,
      [](Worker& self) {
        auto& list = *static_cast<std::vector<int>*>(self.data);
        for (int i = 1; i < 10; i += 2) {
          list.push_back(i);
          self.leave();
        }
      },
      &order);
  for (int i = 0; i < 10; i += 2) {
    order.push_back(i);
    worker.enter();
  }
  EXPECT_FALSE(worker.done);
  worker.enter();
  EXPECT_TRUE(worker.done);
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(worker.arrivals, 6) << "the arrival runs once for every switch, before anything else";
}

TEST(SwitchTest, TheStackIsItsOwn) {
  StackPool pool(64 * 1024);
  bool inside = false;
  Worker worker(
      pool,
      [](Worker& self) {
        double numbers[100];
        for (int i = 0; i < 100; ++i) {
          numbers[i] = i * 1.5;
        }
        self.leave();
        bool same = true;
        for (int i = 0; i < 100; ++i) {
          same = same && numbers[i] == i * 1.5;
        }
        *static_cast<bool*>(self.data) = same;
      },
      &inside);
  worker.enter();
  volatile char scribble[4096];
  for (volatile char& byte : scribble) {
    byte = 7;
  }
  worker.enter();
  EXPECT_TRUE(inside);
}

void throw_and_pause(Worker& self) {
  auto& seen = *static_cast<std::vector<std::string>*>(self.data);
  try {
    throw std::runtime_error("of the fiber");
  } catch (...) {
    self.leave();
    try {
      throw;
    } catch (const std::exception& error) {
      seen.emplace_back(error.what());
    }
  }
  seen.emplace_back(std::current_exception() == nullptr ? "none left" : "one left");
}

TEST(SwitchTest, EachHandlesItsOwnException) {
  StackPool pool(64 * 1024);
  std::vector<std::string> seen;
  Worker first(pool, &throw_and_pause, &seen);
  Worker second(pool, &throw_and_pause, &seen);
  try {
    throw std::logic_error("of the thread");
  } catch (...) {
    first.enter();
    second.enter();
    try {
      throw;
    } catch (const std::exception& error) {
      seen.emplace_back(error.what());
    }
    first.enter();
  }
  EXPECT_EQ(std::current_exception(), nullptr);
  second.enter();
  EXPECT_EQ(seen,
            (std::vector<std::string>{"of the thread", "of the fiber", "none left", "of the fiber", "none left"}));
  EXPECT_TRUE(first.done && second.done);
}

TEST(SwitchTest, AnExceptionGoesAlongToAnotherThread) {
  StackPool pool(64 * 1024);
  std::vector<std::string> seen;
  Worker worker(pool, &throw_and_pause, &seen);
  std::thread([&] { worker.enter(); }).join();
  std::thread([&] {
    try {
      throw std::logic_error("of another thread");
    } catch (...) {
      worker.enter();
      try {
        throw;
      } catch (const std::exception& error) {
        seen.emplace_back(error.what());
      }
    }
  }).join();
  EXPECT_EQ(seen, (std::vector<std::string>{"of the fiber", "none left", "of another thread"}));
}

TEST(SwitchTest, UncaughtExceptionsAreCountedPerFiber) {
  StackPool pool(64 * 1024);
  std::vector<int> counts;
  struct Leaves {
    Worker& worker;
    std::vector<int>& counts;
    ~Leaves() {
      counts.push_back(std::uncaught_exceptions());
      worker.leave();
      counts.push_back(std::uncaught_exceptions());
    }
  };
  static std::vector<int>* list;
  list = &counts;
  Worker worker(pool, [](Worker& self) {
    try {
      const Leaves leaves{self, *list};
      throw 1;
    } catch (int) {
      list->push_back(std::uncaught_exceptions());
    }
  });
  worker.enter();
  counts.push_back(std::uncaught_exceptions());
  worker.enter();
  EXPECT_EQ(counts, (std::vector<int>{1, 0, 1, 0}));
}

TEST(SwitchTest, ManyFibersOverManyThreads) {
  StackPool pool(64 * 1024);
  std::vector<std::unique_ptr<Worker>> workers;
  int sum = 0;
  for (int i = 0; i < 50; ++i) {
    workers.push_back(std::make_unique<Worker>(
        pool,
        [](Worker& self) {
          for (int k = 0; k < 20; ++k) {
            ++*static_cast<int*>(self.data);
            self.leave();
          }
        },
        &sum));
  }
  for (int round = 0; round <= 20; ++round) {
    std::thread([&] {
      for (auto& worker : workers) {
        worker->enter();
      }
    }).join();
  }
  EXPECT_EQ(sum, 1'000);
  for (auto& worker : workers) {
    EXPECT_TRUE(worker->done);
  }
}

}  // namespace
}  // namespace dovetail::fiber
