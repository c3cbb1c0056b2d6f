#include "trace/recorder.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <latch>
#include <thread>

#include "trace/summary.hpp"

namespace dovetail::trace {
namespace {

class Recorded : public testing::Test {
 protected:
  void TearDown() override {
    stop();
    Recorder::instance().set_capacity(1 << 10);
    Recorder::instance().set_ended_limit(64);
  }
  static Recording copy() { return Recorder::instance().copy(); }
  static std::size_t events() {
    std::size_t sum = 0;
    for (const ThreadEvents& thread : copy().threads) sum += thread.events.size();
    return sum;
  }
};

void record_one_of_each() {
  created(1);
  dependencies_met(1);
  ready(1);
  started(1, "task");
  paused(1, "io");
  resumed(1);
  failed(1, "label", "reason");
  returned(1);
  completed(1);
  idle_begin();
  idle_end();
  io_submitted(2, Transfer::read, "pread", "file", 10, 20);
  io_completed(2, 10);
}
constexpr std::size_t one_of_each = 13;

// First: nothing has been recorded in this process yet.
TEST_F(Recorded, WhileOffNothingIsKeptAndNoBufferIsMade) {
  EXPECT_FALSE(recording());
  const std::size_t before = Recorder::instance().buffers();
  std::size_t inside = 0;
  std::thread([&] {
    thread_name(ThreadKind::worker, 0);
    record_one_of_each();
    inside = Recorder::instance().buffers();
  }).join();
  EXPECT_EQ(inside, before);
  EXPECT_EQ(events(), 0U);
}

TEST_F(Recorded, EveryCallIsOneEventThatSaysWhatItWasGiven) {
  start();
  EXPECT_TRUE(recording());
  record_one_of_each();
  stop();
  EXPECT_FALSE(recording());
  const Recording recording = copy();
  ASSERT_EQ(recording.threads.size(), 1U);
  const auto& events = recording.threads[0].events;
  ASSERT_EQ(events.size(), one_of_each);
  EXPECT_TRUE(recording.threads[0].is_main);
  const Kind kinds[] = {Kind::created,  Kind::dependencies_met, Kind::ready,       Kind::started,   Kind::paused,
                        Kind::resumed,  Kind::failed,           Kind::returned,    Kind::completed, Kind::idle_begin,
                        Kind::idle_end, Kind::read_submitted,   Kind::io_completed};
  for (std::size_t i = 0; i < one_of_each; ++i) EXPECT_EQ(kind_of(events[i]), kinds[i]) << i;
  EXPECT_EQ(name_at(recording.names, name_of(events[3])), "task");
  EXPECT_EQ(name_at(recording.names, name_of(events[4])), "io");
  EXPECT_EQ(name_at(recording.names, name_of(events[6])), "reason");
  EXPECT_EQ(name_at(recording.names, static_cast<std::uint32_t>(events[6].value)), "label");
  EXPECT_EQ(name_at(recording.names, name_of(events[11])), "file");
  EXPECT_EQ(name_at(recording.operations, operation_of(events[11])), "pread");
  EXPECT_EQ(length_of(events[11]), 10U);
  EXPECT_EQ(events[11].value, 20U);
  EXPECT_EQ(events[12].value, 10U);
  std::int64_t last = 0;
  for (const Event& event : events) {
    const std::int64_t time = recording.clock.nanoseconds(ticks_of(event));
    EXPECT_GE(time, last);
    EXPECT_LE(time, recording.clock.length());
    last = time;
  }
}

TEST_F(Recorded, TimesAgreeWithTheMonotonicClock) {
  start();
  const std::uint64_t before = monotonic_nanoseconds();
  created(1);
  while (monotonic_nanoseconds() - before < 20'000'000) {
  }
  created(2);
  const std::uint64_t after = monotonic_nanoseconds();
  stop();
  const Recording recording = copy();
  const auto& events = recording.threads.at(0).events;
  ASSERT_EQ(events.size(), 2U);
  const std::int64_t measured =
      recording.clock.nanoseconds(ticks_of(events[1])) - recording.clock.nanoseconds(ticks_of(events[0]));
  // Both lie between the two readings; the second no sooner than the wait is long. The allowance is for the rate, which was
  // measured between two readings of both clocks.
  constexpr std::int64_t allowance = 100'000;
  EXPECT_LE(measured, static_cast<std::int64_t>(after - before) + allowance);
  EXPECT_GE(recording.clock.length(), measured);
}

TEST_F(Recorded, StartForgetsAndStopKeeps) {
  start();
  created(1);
  stop();
  created(2);
  EXPECT_EQ(events(), 1U);
  EXPECT_EQ(events(), 1U);
  start();
  EXPECT_EQ(events(), 0U);
  started(3, "new");
  stop();
  stop();
  const Recording recording = copy();
  ASSERT_EQ(recording.threads.at(0).events.size(), 1U);
  EXPECT_EQ(name_at(recording.names, name_of(recording.threads[0].events[0])), "new");
}

TEST_F(Recorded, AThreadThatEndsLeavesItsEvents) {
  start();
  std::thread([] {
    thread_name(ThreadKind::executor, 7);
    record_one_of_each();
  }).join();
  const Recording recording = copy();
  ASSERT_EQ(recording.threads.size(), 1U);
  EXPECT_EQ(recording.threads[0].events.size(), one_of_each);
  EXPECT_EQ(recording.threads[0].kind, ThreadKind::executor);
  EXPECT_EQ(recording.threads[0].index, 7U);
  const std::size_t kept = Recorder::instance().buffers();
  start();
  EXPECT_LT(Recorder::instance().buffers(), kept);
}

TEST_F(Recorded, AThreadThatEndsAfterItsRecordingLeavesNothing) {
  const std::size_t before = Recorder::instance().buffers();
  std::latch recorded(1);
  std::latch may_end(1);
  start();
  std::thread thread([&] {
    created(1);
    recorded.count_down();
    may_end.wait();
  });
  recorded.wait();
  start();
  may_end.count_down();
  thread.join();
  EXPECT_LE(Recorder::instance().buffers(), before);
  EXPECT_EQ(events(), 0U);
}

TEST_F(Recorded, ThreadsThatEndDoNotPileUp) {
  Recorder::instance().set_ended_limit(4);
  start();
  for (std::uint64_t i = 0; i < 20; ++i)
    std::thread([&] {
      created(i);
      created(i);
    }).join();
  const Recording recording = copy();
  ASSERT_EQ(recording.threads.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(recording.threads[i].events.at(0).id, 16 + i);
  EXPECT_EQ(recording.lost, 2 * 16U);
}

TEST_F(Recorded, AFullRingCountsWhatItLost) {
  Recorder::instance().set_capacity(256);
  start();
  std::thread([] {
    thread_name(ThreadKind::worker, 0);
    for (std::uint64_t i = 0; i < 1000; ++i) created(i);
  }).join();
  stop();
  const Recording recording = copy();
  ASSERT_EQ(recording.threads.size(), 1U);
  EXPECT_EQ(recording.threads[0].events.size(), 255U);
  EXPECT_EQ(recording.threads[0].events.back().id, 999U);
  EXPECT_EQ(recording.lost, 745U);
  EXPECT_EQ(summarize().lost, 745U);
}

// A label may be in memory that is used again at once.
TEST_F(Recorded, NamesAreCopied) {
  start();
  std::string text;
  for (int i = 0; i < 1000; ++i) {
    text = "task " + std::to_string(i % 300) + std::string(static_cast<std::size_t>(i % 7) * 30, 'x');
    started(static_cast<std::uint64_t>(i), text);
  }
  stop();
  const Recording recording = copy();
  const auto& events = recording.threads.at(0).events;
  ASSERT_EQ(events.size(), 1000U);
  for (int i = 0; i < 1000; ++i) {
    text = "task " + std::to_string(i % 300) + std::string(static_cast<std::size_t>(i % 7) * 30, 'x');
    EXPECT_EQ(name_at(recording.names, name_of(events[static_cast<std::size_t>(i)])), text);
  }
}

TEST_F(Recorded, AThreadMayRecordWhileItsThreadLocalsAreDestroyed) {
  struct Late {
    ~Late() { created(99); }
  };
  start();
  std::thread([] {
    thread_local Late late;
    (void)&late;
    created(1);
  }).join();
  const Recording recording = copy();
  ASSERT_EQ(recording.threads.size(), 1U);
  EXPECT_EQ(recording.threads[0].events.at(0).id, 1U);
}

TEST_F(Recorded, AForkedChildRecordsNothingUntilItStarts) {
  start();
  created(1);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    bool good = !recording();
    created(2);
    start();
    created(3);
    good = good && recording() && copy().threads.at(0).events.size() == 1;
    _exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_TRUE(recording());
  EXPECT_EQ(events(), 1U);
}

TEST(Names, ShareTheLastNumberWhenTheTableIsFull) {
  Names names(4);
  EXPECT_EQ(names.number(""), 0U);
  EXPECT_EQ(names.number("a"), 1U);
  EXPECT_EQ(names.number("b"), 2U);
  EXPECT_EQ(names.number("c"), 3U);
  EXPECT_EQ(names.number("d"), 3U);
  EXPECT_EQ(names.number("a"), 1U);
  const auto all = names.all();
  EXPECT_EQ(name_at(all, 0), "");
  EXPECT_EQ(name_at(all, 2), "b");
  EXPECT_NE(name_at(all, 3), "c");
  EXPECT_FALSE(name_at(all, 3).empty());
  names.clear();
  EXPECT_EQ(names.number("c"), 1U);
}

TEST(Names, TheCacheTellsNamesApartThatDifferAnywhere) {
  Names names(most_names);
  NameCache cache;
  std::vector<std::string> texts;
  for (std::size_t length : {1U, 7U, 8U, 9U, 16U, 17U, 40U, 120U, 121U, 300U})
    for (std::size_t place = 0; place < length; ++place) {
      texts.emplace_back(length, 'a');
      texts.back()[place] = 'b';
    }
  for (int round = 0; round < 2; ++round)
    for (const std::string& text : texts) {
      const std::uint32_t number = cache.number(names, text);
      EXPECT_EQ(name_at(names.all(), number), text);
    }
}

}  // namespace
}  // namespace dovetail::trace
