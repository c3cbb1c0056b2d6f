// What a recording says of tasks that block in the operating system, and of tasks that fail or never begin.
#include <time.h>
#include <unistd.h>

#include <array>
#include <map>

#include "support.hpp"
#include "trace/recorder.hpp"
#include "trace/summary.hpp"
#include "trace/timeline.hpp"

namespace dovetail::test {
namespace {

constexpr std::int64_t long_time = 30'000'000;  // nanoseconds

std::int64_t now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void spin(clockid_t clock) {
  for (const std::int64_t end = now(clock) + long_time; now(clock) < end;) {
  }
}

struct Told final : trace::TimelineVisitor {
  explicit Told(const trace::Recording& recording) : recording_(recording) { trace::replay(recording, *this); }
  void slice(const trace::Slice& slice) override {
    slices.emplace(trace::name_at(recording_.names, slice.label), slice);
  }
  void failure(std::size_t, trace::Time, std::uint64_t, std::uint32_t label, std::uint32_t reason) override {
    failures.emplace(trace::name_at(recording_.names, label), trace::name_at(recording_.names, reason));
  }
  std::map<std::string, trace::Slice> slices;
  std::map<std::string, std::string> failures;

 private:
  const trace::Recording& recording_;
};

trace::Recording recorded(const std::function<void(Runtime&)>& program) {
  trace::start();
  {
    Runtime runtime(Options{.workers = 2});
    program(runtime);
  }
  trace::stop();
  return trace::Recorder::instance().copy();
}

TEST(Recorded, ABodyThatBlocksInTheSystemDoesNotCompute) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const trace::Recording recording = recorded([&](Runtime& runtime) {
    std::latch blocked(1);
    Future<void> blocking = runtime.spawn({.label = "blocks"}, [&] {
      blocked.count_down();
      char byte = 0;
      EXPECT_EQ(read(ends[0], &byte, 1), 1);
    });
    blocked.wait();
    runtime.spawn({.label = "computes"}, [] { spin(CLOCK_THREAD_CPUTIME_ID); }).get();
    spin(CLOCK_MONOTONIC);
    EXPECT_EQ(write(ends[1], "x", 1), 1);
    blocking.get();
  });
  close(ends[0]);
  close(ends[1]);
  const Told told(recording);
  const trace::Slice& blocks = told.slices.at("blocks");
  ASSERT_TRUE(blocks.processor.has_value());
  EXPECT_GE(blocks.end - blocks.begin, 2 * long_time);
  EXPECT_LT(*blocks.processor, (blocks.end - blocks.begin) / 2);
  const trace::Slice& computes = told.slices.at("computes");
  ASSERT_TRUE(computes.processor.has_value());
  EXPECT_GE(*computes.processor, long_time - 1);
  const trace::Summary summary = trace::summarize(recording);
  EXPECT_GE(summary.blocked * 2, 0.5e-9 * static_cast<double>(blocks.end - blocks.begin));
  EXPECT_LE(summary.computing, summary.compute * summary.workers + 1e-9);
}

TEST(Recorded, ATaskIsReadyAfterItsPredecessorAndBeforeItBegins) {
  int data = 0;
  const trace::Recording recording = recorded([&](Runtime& runtime) {
    runtime.spawn({.label = "before", .access = {out(data)}}, [] {});
    runtime.spawn({.label = "after", .access = {in(data)}}, [] {});
  });
  const Told told(recording);
  const trace::Slice& before = told.slices.at("before");
  const trace::Slice& after = told.slices.at("after");
  ASSERT_TRUE(before.ready && after.ready && before.created && after.created);
  EXPECT_LE(*before.created, *before.ready);
  EXPECT_LE(*before.ready, before.begin);
  EXPECT_LE(before.begin, *after.ready);
  EXPECT_LE(*after.ready, after.begin);
}

TEST(Recorded, FailuresHaveTheirReasonAndCancelledTasksTheirName) {
  int data = 0;
  const trace::Recording recording = recorded([&](Runtime& runtime) {
    runtime.spawn({.label = "loads", .access = {out(data)}},
                  [] { throw IoError(EIO, "pread", "/data/field", 4096, 512); });
    runtime.spawn({.label = "uses", .access = {in(data)}}, [] { ADD_FAILURE() << "it ran"; });
    EXPECT_THROW(runtime.wait(), TaskFailed);
  });
  const Told told(recording);
  ASSERT_EQ(told.failures.size(), 2U);
  EXPECT_NE(told.failures.at("loads").find("pread of '/data/field' at offset 4096"), std::string::npos)
      << told.failures.at("loads");
  EXPECT_NE(told.failures.at("uses").find("cancelled because task 'loads' failed"), std::string::npos)
      << told.failures.at("uses");
}

}  // namespace
}  // namespace dovetail::test
