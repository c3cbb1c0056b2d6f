#include "trace/timeline.hpp"

#include <gtest/gtest.h>

#include <map>

#include "recording_builder.hpp"

namespace dovetail::trace {
namespace {

using test::Collector;
using test::RecordingBuilder;

Collector collect(const RecordingBuilder& builder) {
  Collector collector;
  replay(builder.recording(), collector);
  return collector;
}

TEST(Timeline, ATaskThatNeverPausesIsOneSlice) {
  RecordingBuilder builder(1000);
  const auto worker = builder.worker(0);
  builder.add(worker, 10, Kind::created, 5).add(worker, 20, Kind::dependencies_met, 5).add(worker, 25, Kind::ready, 5);
  builder.slice(worker, 100, 300, 5, "block");
  const Collector seen = collect(builder);
  ASSERT_EQ(seen.slices.size(), 1U);
  const Slice& slice = seen.slices[0];
  EXPECT_EQ(slice.begin, 100);
  EXPECT_EQ(slice.end, 300);
  EXPECT_EQ(name_at(builder.recording().names, slice.label), "block");
  EXPECT_EQ(slice.ended_by, Kind::returned);
  EXPECT_EQ(slice.created, 10);
  EXPECT_EQ(slice.dependencies_met, 20);
  EXPECT_EQ(slice.ready, 25);
  EXPECT_EQ(slice.flow, 0U);
}

TEST(Timeline, APausedTaskGoesOnOnAnotherThreadUnderItsLabel) {
  RecordingBuilder builder(1000);
  const auto first = builder.worker(0);
  const auto second = builder.worker(1);
  builder.add(first, 100, Kind::started, 5, "reader").add(first, 200, Kind::paused, 5, "io");
  builder.add(second, 350, Kind::ready, 5).add(second, 400, Kind::resumed, 5).add(second, 450, Kind::returned, 5);
  const Collector seen = collect(builder);
  ASSERT_EQ(seen.slices.size(), 2U);
  EXPECT_EQ(seen.slices[0].thread, first);
  EXPECT_EQ(seen.slices[0].ended_by, Kind::paused);
  EXPECT_EQ(name_at(builder.recording().names, seen.slices[0].pause_reason), "io");
  EXPECT_EQ(seen.slices[1].thread, second);
  EXPECT_TRUE(seen.slices[1].continues);
  EXPECT_EQ(seen.slices[1].ready, 350);
  EXPECT_EQ(name_at(builder.recording().names, seen.slices[1].label), "reader");
  EXPECT_NE(seen.slices[0].flow, 0U);
  EXPECT_EQ(seen.slices[0].flow, seen.slices[1].flow);
}

TEST(Timeline, ANumberUsedAgainIsAnotherTask) {
  RecordingBuilder builder(1000);
  const auto worker = builder.worker(0);
  builder.add(worker, 1, Kind::created, 5)
      .add(worker, 10, Kind::started, 5, "one")
      .add(worker, 20, Kind::paused, 5, "io");
  builder.add(worker, 30, Kind::resumed, 5).add(worker, 40, Kind::returned, 5).add(worker, 41, Kind::completed, 5);
  builder.slice(worker, 50, 60, 5, "two");
  const Collector seen = collect(builder);
  ASSERT_EQ(seen.slices.size(), 3U);
  EXPECT_EQ(name_at(builder.recording().names, seen.slices[2].label), "two");
  EXPECT_EQ(seen.slices[2].flow, 0U);
  EXPECT_FALSE(seen.slices[2].created);
}

TEST(Timeline, SlicesNest) {
  RecordingBuilder builder(1000);
  const auto worker = builder.worker(0);
  builder.add(worker, 100, Kind::started, 1, "parent");
  builder.slice(worker, 150, 250, 2, "child");
  builder.add(worker, 300, Kind::returned, 1);
  const Collector seen = collect(builder);
  ASSERT_EQ(seen.slices.size(), 2U);
  EXPECT_EQ(seen.slices[0].begin, 150);
  EXPECT_EQ(seen.slices[1].begin, 100);
  EXPECT_EQ(seen.slices[1].end, 300);
}

TEST(Timeline, AnInnerSliceWithoutAnEndEndsWithTheOuterOne) {
  RecordingBuilder builder(1000);
  const auto worker = builder.worker(0);
  builder.add(worker, 100, Kind::started, 1).add(worker, 150, Kind::started, 2).add(worker, 300, Kind::returned, 1);
  const Collector seen = collect(builder);
  ASSERT_EQ(seen.slices.size(), 2U);
  EXPECT_EQ(seen.slices[0].task, 2U);
  EXPECT_EQ(seen.slices[0].end, 300);
  EXPECT_FALSE(seen.slices[0].ended_by);
}

TEST(Timeline, WhatIsOpenAtTheEndsOfTheRecordingReachesToThem) {
  RecordingBuilder builder(1000);
  const auto worker = builder.worker(0);
  const auto sleeper = builder.worker(1);
  builder.add(worker, 100, Kind::returned, 1).add(worker, 900, Kind::started, 2);
  builder.add(sleeper, 200, Kind::idle_end, 0).add(sleeper, 800, Kind::idle_begin, 0);
  builder.submit(worker, 950, Kind::read_submitted, 7, 10);
  const Collector seen = collect(builder);
  ASSERT_EQ(seen.slices.size(), 2U);
  EXPECT_EQ(seen.slices[0].begin, 0);
  EXPECT_EQ(seen.slices[0].end, 100);
  EXPECT_EQ(seen.slices[1].begin, 900);
  EXPECT_EQ(seen.slices[1].end, 1000);
  ASSERT_EQ(seen.idles.size(), 2U);
  EXPECT_EQ(seen.idles[0].begin, 0);
  EXPECT_EQ(seen.idles[1].end, 1000);
  ASSERT_EQ(seen.requests.size(), 1U);
  EXPECT_EQ(seen.requests[0].end, 1000);
  EXPECT_FALSE(seen.requests[0].completer);
  EXPECT_EQ(seen.changes.back().requests, 0U);
}

TEST(Timeline, AnEndWithoutABeginningLaterOnIsIgnored) {
  RecordingBuilder builder(1000);
  const auto worker = builder.worker(0);
  builder.slice(worker, 10, 20, 1);
  builder.add(worker, 500, Kind::returned, 2).complete(worker, 600, 77, 5);
  const Collector seen = collect(builder);
  EXPECT_EQ(seen.slices.size(), 1U);
  EXPECT_TRUE(seen.requests.empty());
}

TEST(Timeline, ASliceCutOffByARingThatWasFullBeginsWhereTheRingDoes) {
  RecordingBuilder builder(1000);
  const auto worker = builder.worker(0, 12);
  builder.add(worker, 400, Kind::created, 9).add(worker, 500, Kind::returned, 1);
  const Collector seen = collect(builder);
  ASSERT_EQ(seen.slices.size(), 1U);
  EXPECT_EQ(seen.slices[0].begin, 400);
}

TEST(Timeline, ARequestBeginsAndEndsOnDifferentThreads) {
  RecordingBuilder builder(1000);
  const auto worker = builder.worker(0);
  const auto executor = builder.thread(ThreadKind::executor, 3);
  builder.submit(worker, 100, Kind::write_submitted, 7, 4096, 8192, "pwrite", "field.bin")
      .complete(executor, 400, 7, 4096);
  const Collector seen = collect(builder);
  ASSERT_EQ(seen.requests.size(), 1U);
  const RequestSpan& request = seen.requests[0];
  EXPECT_EQ(request.begin, 100);
  EXPECT_EQ(request.end, 400);
  EXPECT_EQ(request.transfer, Transfer::write);
  EXPECT_EQ(request.bytes, 4096U);
  EXPECT_EQ(request.offset, 8192U);
  EXPECT_EQ(request.result, 4096);
  EXPECT_EQ(request.submitter, worker);
  EXPECT_EQ(request.completer, executor);
  EXPECT_EQ(name_at(builder.recording().operations, request.operation), "pwrite");
  EXPECT_EQ(name_at(builder.recording().names, request.file), "field.bin");
}

TEST(Timeline, RequestsShareLanesWhenTheyDoNotOverlap) {
  RecordingBuilder builder(1000);
  const auto worker = builder.worker(0);
  builder.submit(worker, 100, Kind::read_submitted, 1, 10).submit(worker, 110, Kind::read_submitted, 2, 10);
  builder.complete(worker, 200, 1, 10).submit(worker, 210, Kind::read_submitted, 3, 10);
  builder.complete(worker, 300, 3, 10).complete(worker, 310, 2, 10);
  const Collector seen = collect(builder);
  ASSERT_EQ(seen.requests.size(), 3U);
  EXPECT_EQ(seen.requests[0].lane, 0U);
  EXPECT_EQ(seen.requests[1].lane, 0U);
  EXPECT_EQ(seen.requests[2].lane, 1U);
  std::size_t most = 0;
  for (const auto& change : seen.changes) most = std::max(most, change.requests);
  EXPECT_EQ(most, 2U);
}

TEST(Timeline, WhatIsReadAheadHasLanesOfItsOwnAndIsNotInFlight) {
  RecordingBuilder builder(1000);
  const auto worker = builder.worker(0);
  builder.submit(worker, 100, Kind::ahead_submitted, 1, 10).submit(worker, 110, Kind::read_submitted, 2, 10);
  builder.submit(worker, 120, Kind::ahead_submitted, 3, 10).complete(worker, 200, 2, 10);
  builder.complete(worker, 300, 1, 10).submit(worker, 310, Kind::ahead_submitted, 4, 10);
  const Collector seen = collect(builder);
  ASSERT_EQ(seen.requests.size(), 4U);
  std::map<std::uint64_t, std::size_t> lanes;
  for (const RequestSpan& request : seen.requests) {
    lanes[static_cast<std::uint64_t>(request.begin)] = request.lane;
  }
  EXPECT_EQ(lanes, (std::map<std::uint64_t, std::size_t>{{100, 0}, {110, 0}, {120, 1}, {310, 0}}));
  ASSERT_EQ(seen.changes.size(), 2U);
  EXPECT_EQ(seen.changes[0].requests, 1U);
  EXPECT_EQ(seen.changes[1].requests, 0U);
}

TEST(Timeline, EqualTimesKeepTheOrderOfEachThread) {
  RecordingBuilder builder(1000);
  const auto first = builder.worker(0);
  const auto second = builder.worker(1);
  builder.slice(first, 100, 100, 1).slice(first, 100, 100, 2).slice(second, 100, 100, 3);
  EXPECT_EQ(collect(builder).slices.size(), 3U);
}

}  // namespace
}  // namespace dovetail::trace
