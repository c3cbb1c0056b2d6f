#include "trace/summary.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "recording_builder.hpp"

namespace dovetail::trace {
namespace {

using test::RecordingBuilder;

constexpr double nanosecond = 1e-9;
constexpr double tolerance = 1e-15;

TEST(Summary, OfAnEmptyRecordingIsZero) {
  const Summary summary = summarize(RecordingBuilder(1000).recording());
  EXPECT_NEAR(summary.total, 1000 * nanosecond, tolerance);
  EXPECT_EQ(summary.compute, 0);
  EXPECT_EQ(summary.io, 0);
  EXPECT_EQ(summary.workers, 0U);
  EXPECT_EQ(summary.hidden_share(), 0);
}

TEST(Summary, ComputeIsTheMeanOverWorkersAndLeavesExecutorsOut) {
  RecordingBuilder builder(1000);
  const auto first = builder.worker(0);
  const auto second = builder.worker(1);
  const auto executor = builder.thread(ThreadKind::executor, 0);
  builder.slice(first, 0, 600, 1).slice(second, 100, 300, 2).slice(executor, 0, 1000, 3);
  const Summary summary = summarize(builder.recording());
  EXPECT_EQ(summary.workers, 2U);
  EXPECT_NEAR(summary.compute, 400 * nanosecond, tolerance);
}

TEST(Summary, ASliceInsideOfAnotherCountsOnce) {
  RecordingBuilder builder(1000);
  const auto worker = builder.worker(0);
  builder.add(worker, 100, Kind::started, 1).slice(worker, 200, 300, 2).slice(worker, 300, 400, 3);
  builder.add(worker, 500, Kind::returned, 1).slice(worker, 600, 700, 4);
  EXPECT_NEAR(summarize(builder.recording()).compute, 500 * nanosecond, tolerance);
}

TEST(Summary, BytesAreWhatRequestsMoved) {
  RecordingBuilder builder(1000);
  const auto worker = builder.worker(0);
  builder.submit(worker, 10, Kind::read_submitted, 1, 100).complete(worker, 20, 1, 60);
  builder.submit(worker, 30, Kind::write_submitted, 2, 100).complete(worker, 40, 2, 100);
  builder.submit(worker, 50, Kind::io_submitted, 3, 0).complete(worker, 60, 3, 0);
  builder.submit(worker, 70, Kind::write_submitted, 4, 100).complete(worker, 80, 4, -5);
  builder.submit(worker, 90, Kind::write_submitted, 5, 100);
  const Summary summary = summarize(builder.recording());
  EXPECT_EQ(summary.bytes_read, 60);
  EXPECT_EQ(summary.bytes_written, 100);
}

TEST(Summary, WhatIsReadAheadIsNoReadOfTheProgram) {
  RecordingBuilder builder(1000);
  const auto worker = builder.worker(0);
  builder.submit(worker, 10, Kind::ahead_submitted, 1, 100).complete(worker, 500, 1, 100);
  builder.submit(worker, 600, Kind::read_submitted, 2, 100).complete(worker, 700, 2, 100);
  const Summary summary = summarize(builder.recording());
  EXPECT_EQ(summary.bytes_read, 100);
  EXPECT_NEAR(summary.io, 100 * nanosecond, tolerance);
}

TEST(Summary, AllHiddenIsOneAndNothingHiddenIsZero) {
  RecordingBuilder hidden(1000);
  auto worker = hidden.worker(0);
  hidden.submit(worker, 0, Kind::read_submitted, 1, 1).slice(worker, 0, 1000, 1).complete(worker, 1000, 1, 1);
  EXPECT_NEAR(summarize(hidden.recording()).hidden_share(), 1, 1e-9);

  RecordingBuilder bare(1000);
  worker = bare.worker(0);
  bare.slice(worker, 0, 500, 1).submit(worker, 500, Kind::read_submitted, 1, 1).complete(worker, 1000, 1, 1);
  EXPECT_NEAR(summarize(bare.recording()).hidden_share(), 0, 1e-9);
}

// What a body spends in a plain fsync, say.
TEST(Summary, TimeWithoutTheProcessorIsNotComputingAndHidesNothing) {
  RecordingBuilder builder(1000);
  const auto worker = builder.worker(0);
  builder.submit(worker, 0, Kind::write_submitted, 1, 1).add(worker, 0, Kind::started, 1);
  builder.end(worker, 1000, Kind::returned, 1, 100).complete(worker, 1000, 1, 1);
  const Summary summary = summarize(builder.recording());
  EXPECT_NEAR(summary.compute, 100 * nanosecond, tolerance);
  EXPECT_NEAR(summary.computing, 100 * nanosecond, tolerance);
  EXPECT_NEAR(summary.blocked, 900 * nanosecond, tolerance);
  EXPECT_NEAR(summary.hidden, 100 * nanosecond, tolerance);
  EXPECT_NEAR(summary.hidden_share(), 0.1, 1e-9);
}

TEST(Summary, TheProcessorTimeOfAnOuterSliceIsWithoutThatOfTheInnerOnes) {
  RecordingBuilder builder(1000);
  const auto worker = builder.worker(0);
  // 1000 long: 400 of an inner slice, of which 300 computed, and 600 of its own, of which 60.
  builder.add(worker, 0, Kind::started, 1).add(worker, 200, Kind::started, 2);
  builder.end(worker, 600, Kind::returned, 2, 300).end(worker, 1000, Kind::returned, 1, 360);
  const Summary summary = summarize(builder.recording());
  EXPECT_NEAR(summary.compute, 360 * nanosecond, tolerance);
  EXPECT_NEAR(summary.blocked, 640 * nanosecond, tolerance);
}

TEST(Summary, WorkersThatComputeHalfOfTheTimeAreIndependent) {
  RecordingBuilder builder(1000);
  for (unsigned index = 0; index < 2; ++index) {
    const auto worker = builder.worker(index);
    builder.add(worker, 0, Kind::started, index + 1).end(worker, 1000, Kind::returned, index + 1, 500);
  }
  const Summary summary = summarize(builder.recording());
  EXPECT_NEAR(summary.compute, 500 * nanosecond, tolerance);
  EXPECT_NEAR(summary.computing, 750 * nanosecond, tolerance);
}

TEST(Summary, TheBodyOfAnIoTaskIsIoInFlight) {
  RecordingBuilder builder(1000);
  const auto worker = builder.worker(0);
  const auto executor = builder.thread(ThreadKind::executor, 0);
  builder.slice(executor, 100, 500, 1).slice(worker, 300, 900, 2);
  builder.submit(worker, 400, Kind::read_submitted, 1, 1).complete(worker, 600, 1, 1);
  const Summary summary = summarize(builder.recording());
  EXPECT_NEAR(summary.io, 500 * nanosecond, tolerance);
  EXPECT_NEAR(summary.hidden, 300 * nanosecond, tolerance);
}

// Against marking each nanosecond by hand: slices that nest at random on several workers, all of them computing.
TEST(Summary, HiddenIsTheLengthOfWhatBothCover) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    constexpr std::uint64_t length = 300;
    std::vector<bool> computing(length);
    std::vector<bool> io(length);
    RecordingBuilder builder(length);
    std::uint64_t computed = 0;
    for (unsigned index = 0; index < 3; ++index) {
      const auto worker = builder.worker(index);
      std::vector<std::uint64_t> open;
      std::uint64_t id = 100 * index;
      for (std::uint64_t now = 0; now < length; ++now) {
        if (random() % 20 == 0) builder.add(worker, now, Kind::started, open.emplace_back(++id));
        if (!open.empty() && random() % 15 == 0) {
          builder.add(worker, now, Kind::returned, open.back());
          open.pop_back();
        }
        if (!open.empty()) {
          computing[now] = true;
          ++computed;
        }
      }
    }
    const auto executor = builder.thread(ThreadKind::executor, 0);
    for (std::uint64_t now = random() % 50, id = 1000; now + 40 < length; now += 40 + random() % 40, ++id) {
      builder.slice(executor, now, now + 30, id);
      std::fill_n(io.begin() + static_cast<std::ptrdiff_t>(now), 30, true);
    }
    std::uint64_t both = 0;
    for (std::size_t i = 0; i < length; ++i) both += computing[i] && io[i] ? 1 : 0;
    const Summary summary = summarize(builder.recording());
    const auto expect = [&](double said, std::uint64_t counted, const char* what) {
      ASSERT_NEAR(said, static_cast<double>(counted) * nanosecond, 1e-13) << what << ", round " << round;
    };
    expect(summary.compute * summary.workers, computed, "computed");
    expect(summary.computing, static_cast<std::uint64_t>(std::count(computing.begin(), computing.end(), true)),
           "computing");
    expect(summary.io, static_cast<std::uint64_t>(std::count(io.begin(), io.end(), true)), "io");
    expect(summary.hidden, both, "hidden");
  }
}

TEST(Summary, LostEventsMakeItSpeakOfTheLaterPartOnly) {
  RecordingBuilder builder(1000);
  const auto complete = builder.worker(0);
  const auto cut = builder.worker(1, 20);
  builder.slice(complete, 0, 800, 1);
  builder.submit(complete, 810, Kind::read_submitted, 1, 50).complete(complete, 910, 1, 50);
  builder.slice(cut, 600, 900, 2);
  const Summary summary = summarize(builder.recording());
  EXPECT_EQ(summary.lost, 20U);
  EXPECT_NEAR(summary.total, 400 * nanosecond, tolerance);
  EXPECT_NEAR(summary.compute, (200 + 300) / 2.0 * nanosecond, tolerance);
  EXPECT_NEAR(summary.io, 100 * nanosecond, tolerance);
}

// Against marking each nanosecond by hand, for requests that overlap at random.
TEST(Summary, IoIsTheLengthOfTheUnion) {
  const unsigned seed = std::random_device{}();
  RecordProperty("seed", std::to_string(seed));
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    constexpr std::uint64_t length = 400;
    std::vector<bool> busy(length);
    struct Point {
      std::uint64_t time;
      bool ends;
      std::uint64_t id;
    };
    std::vector<Point> points;
    const std::uint64_t requests = random() % 12;
    for (std::uint64_t id = 1; id <= requests; ++id) {
      const std::uint64_t begin = random() % length;
      const std::uint64_t end = std::min<std::uint64_t>(length, begin + random() % 60);
      for (std::uint64_t i = begin; i < end; ++i) busy[i] = true;
      points.push_back({begin, false, id});
      points.push_back({end, true, id});
    }
    std::stable_sort(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.time < b.time; });
    RecordingBuilder builder(length);
    const std::size_t threads[] = {builder.worker(0), builder.worker(1), builder.thread(ThreadKind::other, 0)};
    for (const Point& point : points) {
      // A submission and its completion at one time are causally ordered only on one thread.
      const std::size_t thread = threads[point.id % 3];
      if (point.ends)
        builder.complete(thread, point.time, point.id, 1);
      else
        builder.submit(thread, point.time, Kind::read_submitted, point.id, 1);
    }
    const auto expected = static_cast<double>(std::count(busy.begin(), busy.end(), true));
    ASSERT_NEAR(summarize(builder.recording()).io, expected * nanosecond, tolerance) << "round " << round;
  }
}

}  // namespace
}  // namespace dovetail::trace
