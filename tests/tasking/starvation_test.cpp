// A ready task begins after a bounded number of others, however many come after it and whatever goes before it.
#include "support.hpp"

namespace dovetail::test {
namespace {

// Docs: docs/design/stealing.md, "Nothing ready starves". One in 64 tasks is taken in turn from seven queues. A body that runs its
// children on top of it looks up after 1024 of them. The flood begins with up to a turn's tasks of its own.
constexpr int most_overtaking = 7 * 65 + 65;
constexpr int most_on_top = 7 * 1024 + 64;

// Tasks that make the next one each, so that there always is a newer one, until the starved one has begun.
struct Flood {
  std::atomic<bool> begun{false};
  std::atomic<int> overtook{0};
  bool goes_on() { return !begun.load() && overtook.fetch_add(1) < 100 * most_on_top; }
  void expect_bounded(int most = most_overtaking) const {
    EXPECT_TRUE(begun.load());
    EXPECT_LE(overtook.load(), most);
  }
};

void keep_spawning(Flood& flood, const TaskDescription& description = {}) {
  if (flood.goes_on()) {
    spawn(description, [&flood, description] { keep_spawning(flood, description); });
  }
}

TEST(StarvationTest, AnOlderTaskOfTheSameWorker) {
  Runtime runtime(Options{.workers = 1});
  Flood flood;
  runtime.spawn([&] {
    spawn([&] { flood.begun = true; });
    for (int i = 0; i < 3; ++i) {
      spawn([&] { keep_spawning(flood); });
    }
  });
  runtime.wait();
  flood.expect_bounded();
}

// The successor of a task that completes goes before all that is queued.
TEST(StarvationTest, BehindAChainOfSuccessors) {
  Runtime runtime(Options{.workers = 1});
  Flood flood;
  int data = 0;
  std::function<void()> link = [&] {
    if (flood.goes_on()) {
      spawn({.access = {inout(data)}}, [&] {});
      spawn({.access = {inout(data)}}, [&] { link(); });
    }
  };
  runtime.spawn([&] {
    spawn([&] { flood.begun = true; });
    spawn([&] { link(); });
  });
  runtime.wait();
  flood.expect_bounded();
}

TEST(StarvationTest, ATaskOfAForeignThread) {
  for (unsigned workers = 1; workers <= 2; ++workers) {
    Runtime runtime(Options{.workers = workers});
    Flood flood;
    std::atomic<bool> flooding{false};
    std::atomic<int> spawned_at{0};
    for (unsigned i = 0; i < 2 * workers; ++i) {
      runtime.spawn([&] {
        flooding = true;
        keep_spawning(flood);
      });
    }
    await([&] { return flooding.load(); });
    runtime.spawn([&] { flood.begun = true; });
    spawned_at = flood.overtook.load();
    runtime.wait();
    EXPECT_TRUE(flood.begun.load());
    EXPECT_LE(flood.overtook.load() - spawned_at.load(), static_cast<int>(workers) * most_overtaking);
  }
}

TEST(StarvationTest, ATaskThatAForeignThreadResumes) {
  Runtime runtime(Options{.workers = 1});
  Flood flood;
  TaskHandle handle;
  std::atomic<bool> suspended{false};
  std::atomic<int> resumed_at{0};
  runtime.spawn([&] {
    handle = this_task::handle();
    spawn([&] {
      suspended = true;
      keep_spawning(flood);
    });
    this_task::suspend();
    flood.begun = true;
  });
  await([&] { return suspended.load(); });
  handle.resume();
  resumed_at = flood.overtook.load();  // after it: between the two, others may have the core for long
  runtime.wait();
  EXPECT_TRUE(flood.begun.load());
  EXPECT_LE(flood.overtook.load() - resumed_at.load(), most_overtaking);
}

// What a foreign thread resumes may be a task whose time has come: only one turn of the other queues goes before it.
TEST(StarvationTest, AResumedTaskGoesBeforeTheOwnDeque) {
  Runtime runtime(Options{.workers = 1});
  for (int turn = 0; turn < 20; ++turn) {
    TaskHandle handle;
    std::atomic<bool> computing{false};
    std::atomic<bool> resumed{false};
    std::atomic<int> ran{0};
    int ran_before = -1;
    runtime.spawn([&] {
      handle = this_task::handle();
      spawn([&] {
        for (int i = 0; i < 50; ++i) {
          spawn([&] { ran.fetch_add(1); });
        }
        computing = true;
        await([&] { return resumed.load(); });
      });
      this_task::suspend();
      ran_before = ran.load();
    });
    await([&] { return computing.load(); });
    handle.resume();
    resumed = true;
    runtime.wait();
    EXPECT_LE(ran_before, 1) << "turn " << turn;
  }
}

TEST(StarvationTest, ATaskBehindManyThatAForeignThreadResumes) {
  constexpr int count = 2'000;
  constexpr int most = 200;
  Runtime runtime(Options{.workers = 1});
  std::vector<TaskHandle> handles(count);
  std::atomic<int> suspended{0};
  std::atomic<bool> resumed{false};
  std::atomic<bool> begun{false};
  std::atomic<int> overtook{0};
  for (TaskHandle& handle : handles) {
    runtime.spawn([&] {
      handle = this_task::handle();
      suspended.fetch_add(1);
      this_task::suspend();
      overtook.fetch_add(begun.load() ? 0 : 1);
    });
  }
  await([&] { return suspended.load() == count; });
  runtime.spawn([&] {
    spawn([&] { begun = true; });
    await([&] { return resumed.load(); });
  });
  for (TaskHandle& handle : handles) {
    handle.resume();
  }
  resumed = true;
  runtime.wait();
  EXPECT_LE(overtook.load(), most);
}

TEST(StarvationTest, ATaskThatYields) {
  Runtime runtime(Options{.workers = 1});
  Flood flood;
  runtime.spawn([&] {
    spawn([&] { keep_spawning(flood); });
    this_task::yield();
    flood.begun = true;
  });
  runtime.wait();
  flood.expect_bounded();
}

TEST(StarvationTest, ATaskOfLowPriority) {
  Runtime runtime(Options{.workers = 1});
  Flood flood;
  runtime.spawn([&] {
    spawn({.priority = -5}, [&] { flood.begun = true; });
    spawn([&] { keep_spawning(flood); });
  });
  runtime.wait();
  flood.expect_bounded();
}

TEST(StarvationTest, ATaskBehindUrgentOnes) {
  Runtime runtime(Options{.workers = 1});
  Flood flood;
  runtime.spawn([&] {
    spawn([&] { flood.begun = true; });
    spawn({.priority = 3}, [&] { keep_spawning(flood, {.priority = 3}); });
  });
  runtime.wait();
  flood.expect_bounded();
}

// Each priority that has tasks has its turn.
TEST(StarvationTest, ATaskBehindOthersOfHigherPriorityOnItsSideOfZero) {
  for (const auto& [low, high] : {std::pair(1, 2), std::pair(-2, -1), std::pair(-7, -1)}) {
    Runtime runtime(Options{.workers = 1});
    Flood flood;
    runtime.spawn([&, low = low, high = high] {
      spawn({.priority = low}, [&] { flood.begun = true; });
      spawn({.priority = high}, [&] { keep_spawning(flood, {.priority = high}); });
    });
    runtime.wait();
    flood.expect_bounded(2 * most_overtaking);
  }
}

TEST(StarvationTest, AnIoTaskBehindUrgentIoTasks) {
  Runtime runtime(Options{.workers = 1, .io_executors = 1});
  Flood flood;
  int spawned_at = 0;
  runtime.spawn([&] {
    // More than there are places, so that all of them have to wait for one.
    for (int i = 0; i < 4; ++i) {
      spawn({.priority = 1, .io = true}, [&] { keep_spawning(flood, {.priority = 1, .io = true}); });
    }
    spawn({.io = true}, [&] { flood.begun = true; });
    spawned_at = flood.overtook.load();
  });
  runtime.wait();
  flood.expect_bounded(spawned_at + most_overtaking);
}

TEST(StarvationTest, ATaskBehindTiedOnesThatYield) {
  Runtime runtime(Options{.workers = 1});
  Flood flood;
  runtime.spawn([&] {
    for (int i = 0; i < 2; ++i) {
      spawn({.tied = true}, [&] {
        while (flood.goes_on()) {
          this_task::yield();
        }
      });
    }
    spawn([&] { flood.begun = true; });
    this_task::yield();
  });
  runtime.wait();
  flood.expect_bounded();
}

// A body that waits runs its children on top of it, and they make ever more.
TEST(StarvationTest, ATaskBehindOneThatRunsItsChildren) {
  Runtime runtime(Options{.workers = 1});
  Flood flood;
  runtime.spawn([&] {
    spawn([&] { flood.begun = true; });
    spawn([&] {
      spawn([&] { keep_spawning(flood); });
      wait();
    });
  });
  runtime.wait();
  flood.expect_bounded(most_on_top);
}

// Polling functions belong to no task, but tasks wait for them.
TEST(StarvationTest, APollingService) {
  Runtime runtime(Options{.workers = 1});
  Flood flood;
  PollingService service(runtime, "poller", {std::chrono::microseconds(1), std::chrono::microseconds(1)}, [&] {
    flood.begun = true;
    return std::size_t{1};
  });
  runtime.spawn([&] {
    service.add_pending();
    spawn([&] {
      // It is not a number of tasks that bounds this but the time; a flood that went on for ever would be the fault.
      std::function<void()> go_on = [&] {
        if (!flood.begun.load()) {
          spawn([&] { go_on(); });
        }
      };
      go_on();
      wait();
    });
    wait();
  });
  runtime.wait();
  EXPECT_TRUE(flood.begun.load());
}

}  // namespace
}  // namespace dovetail::test
