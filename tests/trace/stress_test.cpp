// Recording is started, stopped, summed up and read while threads record, begin and end.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "trace/recorder.hpp"
#include "trace/summary.hpp"
#include "trace/timeline.hpp"

namespace dovetail::trace {
namespace {

bool small() {
  const char* scale = std::getenv("DOVETAIL_TEST_SCALE");
  return scale != nullptr && std::string(scale) == "small";
}

unsigned seed() {
  const char* given = std::getenv("DOVETAIL_TEST_SEED");
  const unsigned value =
      given != nullptr ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : std::random_device{}();
  std::cout << "seed " << value << " (set DOVETAIL_TEST_SEED to use it again)\n";
  return value;
}

// What each event says can be checked on its own: value, name and id belong together.
void record_some(std::mt19937& random) {
  const std::uint64_t id = random() % 64;
  io_submitted(id, Transfer::write, "pwrite", "file " + std::to_string(id), id, id * 1000);
  started(id, "label " + std::to_string(id));
  returned(id);
}

void check(const Recording& recording) {
  for (const ThreadEvents& thread : recording.threads) {
    std::int64_t last = 0;
    for (const Event& event : thread.events) {
      const std::int64_t time = recording.clock.nanoseconds(ticks_of(event));
      ASSERT_GE(time, last);
      last = time;
      const std::string number = std::to_string(event.id);
      if (kind_of(event) == Kind::write_submitted) {
        ASSERT_EQ(name_at(recording.names, name_of(event)), "file " + number);
        ASSERT_EQ(name_at(recording.operations, operation_of(event)), "pwrite");
        ASSERT_EQ(length_of(event), event.id);
        ASSERT_EQ(event.value, event.id * 1000);
      } else if (kind_of(event) == Kind::started) {
        ASSERT_EQ(name_at(recording.names, name_of(event)), "label " + number);
      } else {
        ASSERT_EQ(kind_of(event), Kind::returned);
      }
    }
  }
}

TEST(Stress, StartStopAndReadWhileThreadsRecord) {
  std::mt19937 random(seed());
  Recorder::instance().set_capacity(512);
  Recorder::instance().set_ended_limit(8);
  constexpr unsigned writers = 6;
  std::atomic<bool> enough{false};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < writers; ++i)
    threads.emplace_back([&enough, i, own_seed = random()] {
      std::mt19937 own(static_cast<unsigned>(own_seed));
      thread_name(ThreadKind::worker, i);
      while (!enough.load(std::memory_order_relaxed)) record_some(own);
    });
  // Threads that come and go all the time.
  threads.emplace_back([&enough, own_seed = random()] {
    std::mt19937 own(static_cast<unsigned>(own_seed));
    while (!enough.load(std::memory_order_relaxed))
      std::thread([&own] {
        for (int i = 0; i < 20; ++i) record_some(own);
      }).join();
  });
  // Enough when this many copies had events of at least half of the writers: `start` may follow `start` at once.
  const unsigned wanted = small() ? 50 : 500;
  unsigned full = 0;
  while (full < wanted && !testing::Test::HasFailure()) {
    const auto choice = random() % 8;
    if (choice == 0) {
      start();
    } else if (choice == 1) {
      stop();
    } else if (!recording() && choice == 2) {
      start();
    } else {
      const Recording recording = Recorder::instance().copy();
      check(recording);
      full += recording.threads.size() >= writers / 2 ? 1 : 0;
      const Summary summary = summarize(recording);
      EXPECT_LE(summary.workers, writers);
      EXPECT_LE(summary.compute, summary.total + 1e-9);
      EXPECT_LE(summary.io, summary.total + 1e-9);
      std::this_thread::yield();
    }
  }
  enough = true;
  for (std::thread& thread : threads) thread.join();
  stop();
  check(Recorder::instance().copy());
}

TEST(Stress, NothingIsLostWithoutBeingCounted) {
  Recorder::instance().set_capacity(1 << 10);
  Recorder::instance().set_ended_limit(3);
  start();
  constexpr std::uint64_t writers = 8;
  const std::uint64_t each = small() ? 500 : 5000;
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < writers; ++i)
    threads.emplace_back([each] {
      for (std::uint64_t n = 0; n < each; ++n) created(n);
    });
  for (std::thread& thread : threads) thread.join();
  stop();
  const Recording recording = Recorder::instance().copy();
  std::uint64_t kept = 0;
  for (const ThreadEvents& thread : recording.threads) kept += thread.events.size();
  EXPECT_EQ(kept + recording.lost, writers * each);
}

}  // namespace
}  // namespace dovetail::trace
