// Messages in a recording: how long they are outstanding, in which order they stand, and where their tasks send and receive them.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "recording_builder.hpp"
#include "trace/recorder.hpp"
#include "trace/summary.hpp"
#include "trace/timeline.hpp"
#include "trace/trace.hpp"

namespace dovetail::trace {
namespace {

using test::Collector;
using test::RecordingBuilder;

constexpr double nanosecond = 1e-9;
constexpr double tolerance = 1e-15;
constexpr std::uint64_t task = 0x10;
constexpr std::uint64_t other_task = 0x20;
constexpr std::uint64_t message = 0x100;
constexpr std::uint64_t second_message = 0x200;
constexpr std::uint64_t third_message = 0x300;  // of no task

Collector collect(const RecordingBuilder& builder) {
  Collector collector;
  replay(builder.recording(), collector);
  return collector;
}

std::string label_of(const RecordingBuilder& builder, const Message& of) { return builder.recording().names[of.label]; }

TEST(Messages, ASendTouchesTheSliceThatBeginsIt) {
  RecordingBuilder builder(1000);
  const auto worker = builder.worker(0);
  const auto poller = builder.worker(1);
  builder.add(worker, 100, Kind::started, task, "sender").begin_message(worker, 150, message, task);
  builder.pair(poller, 160, Kind::send_posted, message, {3, 7}).add(worker, 200, Kind::returned, task);
  builder.pair(poller, 400, Kind::message_ended, message, {unknown_number, unknown_number});
  const Collector found = collect(builder);
  ASSERT_EQ(found.messages.size(), 1U);
  const Message& sent = found.messages[0];
  EXPECT_EQ(sent.direction, Direction::send);
  EXPECT_EQ(sent.begin, 150);
  EXPECT_EQ(sent.end, 400);
  EXPECT_EQ(sent.peer, 3U);
  EXPECT_EQ(sent.tag, 7U);
  EXPECT_EQ(sent.task, task);
  EXPECT_TRUE(sent.has_ended);
  EXPECT_EQ(label_of(builder, sent), "sender");
  ASSERT_TRUE(sent.touches);
  EXPECT_EQ(sent.touches->thread, worker);
  EXPECT_EQ(sent.touches->time, 150);
}

TEST(Messages, AReceiveTouchesTheSliceWithWhichItsTaskGoesOn) {
  RecordingBuilder builder(1000);
  const auto worker = builder.worker(0);
  const auto elsewhere = builder.worker(1);
  builder.add(worker, 100, Kind::started, task, "receiver").begin_message(worker, 110, message, task);
  builder.pair(worker, 120, Kind::receive_posted, message, {unknown_number, unknown_number});
  builder.add(worker, 130, Kind::paused, task).slice(worker, 140, 290, other_task, "another");
  builder.pair(elsewhere, 300, Kind::message_ended, message, {2, 9});
  builder.add(elsewhere, 350, Kind::resumed, task).add(elsewhere, 400, Kind::returned, task);
  const Collector found = collect(builder);
  ASSERT_EQ(found.messages.size(), 1U);
  const Message& received = found.messages[0];
  EXPECT_EQ(received.direction, Direction::receive);
  EXPECT_EQ(received.end, 300);
  EXPECT_EQ(received.peer, 2U);
  EXPECT_EQ(received.tag, 9U);
  EXPECT_EQ(label_of(builder, received), "receiver");
  ASSERT_TRUE(received.touches);
  EXPECT_EQ(received.touches->thread, elsewhere);
  EXPECT_EQ(received.touches->time, 350);
}

TEST(Messages, OneThatIsReceivedInOnreadyTouchesTheBeginningOfItsTask) {
  RecordingBuilder builder(1000);
  const auto worker = builder.worker(0);
  builder.add(worker, 50, Kind::created, task).add(worker, 60, Kind::started, other_task, "spawns");
  builder.begin_message(worker, 100, message, task);
  builder.pair(worker, 110, Kind::receive_posted, message, {unknown_number, unknown_number});
  builder.pair(worker, 200, Kind::message_ended, message, {2, 9}).add(worker, 250, Kind::returned, other_task);
  builder.slice(worker, 300, 400, task, "receiver");
  const Collector found = collect(builder);
  ASSERT_EQ(found.messages.size(), 1U);
  EXPECT_EQ(label_of(builder, found.messages[0]), "receiver");
  ASSERT_TRUE(found.messages[0].touches);
  EXPECT_EQ(found.messages[0].touches->time, 300);
}

TEST(Messages, OneThatIsSentInOnreadyHasTheNameOfItsTaskAndTouchesNoSlice) {
  RecordingBuilder builder(1000);
  const auto worker = builder.worker(0);
  builder.add(worker, 50, Kind::created, task).add(worker, 60, Kind::started, other_task, "spawns");
  builder.begin_message(worker, 100, message, task).pair(worker, 110, Kind::send_posted, message, {2, 9});
  builder.pair(worker, 200, Kind::message_ended, message, {unknown_number, unknown_number});
  builder.add(worker, 250, Kind::returned, other_task).slice(worker, 300, 400, task, "sender");
  const Collector found = collect(builder);
  ASSERT_EQ(found.messages.size(), 1U);
  EXPECT_EQ(label_of(builder, found.messages[0]), "sender");
  EXPECT_FALSE(found.messages[0].touches);
  EXPECT_EQ(found.messages[0].end, 200);
}

TEST(Messages, OneThatIsReceivedWhenItsTaskHasReturnedTouchesNoSlice) {
  RecordingBuilder builder(1000);
  const auto worker = builder.worker(0);
  builder.add(worker, 100, Kind::started, task, "receiver").begin_message(worker, 110, message, task);
  builder.pair(worker, 120, Kind::receive_posted, message, {unknown_number, unknown_number});
  builder.add(worker, 130, Kind::returned, task).slice(worker, 140, 500, other_task, "another");
  builder.pair(worker, 300, Kind::message_ended, message, {2, 9}).add(worker, 310, Kind::completed, task);
  const Collector found = collect(builder);
  ASSERT_EQ(found.messages.size(), 1U);
  EXPECT_FALSE(found.messages[0].touches);
  EXPECT_EQ(label_of(builder, found.messages[0]), "receiver");
}

TEST(Messages, TheirOrderIsThatInWhichTheyArePosted) {
  RecordingBuilder builder(1000);
  const auto worker = builder.worker(0);
  builder.add(worker, 10, Kind::started, task, "receiver");
  builder.begin_message(worker, 20, message, task).begin_message(worker, 30, second_message, task);
  builder.pair(worker, 40, Kind::receive_posted, second_message, {unknown_number, unknown_number});
  builder.pair(worker, 50, Kind::receive_posted, message, {unknown_number, unknown_number});
  builder.pair(worker, 60, Kind::message_ended, message, {1, 1});
  builder.pair(worker, 70, Kind::message_ended, second_message, {1, 1});
  const Collector found = collect(builder);
  ASSERT_EQ(found.messages.size(), 2U);
  EXPECT_EQ(found.messages[0].begin, 20);
  EXPECT_EQ(found.messages[0].order, 1U);
  EXPECT_EQ(found.messages[1].order, 0U);
  EXPECT_NE(found.messages[0].lane, found.messages[1].lane);
}

TEST(Messages, WhatIsNotPostedHasNoDirection) {
  RecordingBuilder builder(1000);
  const auto worker = builder.worker(0);
  builder.add(worker, 10, Kind::started, task, "all").begin_message(worker, 20, message, task, "MPI_Barrier");
  const Collector found = collect(builder);
  ASSERT_EQ(found.messages.size(), 1U);
  EXPECT_EQ(found.messages[0].direction, Direction::none);
  EXPECT_FALSE(found.messages[0].has_ended);
  EXPECT_EQ(found.messages[0].end, 1000);
  ASSERT_EQ(found.outstanding.size(), 2U);
  EXPECT_EQ(found.outstanding[1].requests, 0U);
}

// Signal 5 comes twice before it is taken; 6 is of another wait, and 7 of none.
TEST(Messages, AWaitTakesTheSignalsOfItsRangeThatHaveArrived) {
  RecordingBuilder builder(1000);
  const auto worker = builder.worker(0);
  builder.pair(worker, 10, Kind::signal_arrived, 0, {1, 5}).pair(worker, 20, Kind::signal_arrived, 0, {2, 5});
  builder.pair(worker, 30, Kind::signal_arrived, 0, {1, 7}).pair(worker, 35, Kind::signal_arrived, 0, {1, 5}, "other");
  builder.add(worker, 40, Kind::started, task, "takes").begin_message(worker, 50, message, task);
  builder.pair(worker, 51, Kind::signals_awaited, message, {4, 3}).add(worker, 60, Kind::paused, task);
  builder.pair(worker, 70, Kind::signal_arrived, 0, {1, 4}).pair(worker, 80, Kind::signal_arrived, 0, {3, 6});
  builder.pair(worker, 81, Kind::message_ended, message, {unknown_number, unknown_number});
  builder.pair(worker, 85, Kind::signal_arrived, 0, {1, 4}).add(worker, 90, Kind::resumed, task);
  builder.add(worker, 100, Kind::returned, task);
  const Collector found = collect(builder);
  std::vector<std::vector<std::uint64_t>> taken;
  std::vector<std::uint64_t> left;
  for (const Message& each : found.messages) {
    if (each.is_signal && each.touches) {
      EXPECT_EQ(each.touches->time, 90);
      taken.push_back({each.order, each.peer, each.tag});
    } else if (each.is_signal) {
      EXPECT_FALSE(each.has_ended);
      left.push_back(each.order);
    }
  }
  std::sort(taken.begin(), taken.end());
  std::sort(left.begin(), left.end());
  EXPECT_EQ(taken, (std::vector<std::vector<std::uint64_t>>{{0, 1, 5}, {1, 2, 5}, {4, 1, 4}, {5, 3, 6}}));
  EXPECT_EQ(left, (std::vector<std::uint64_t>{2, 3, 6}));
}

TEST(Messages, AWaitForAnySignalTakesTheOneThatHasEndedIt) {
  RecordingBuilder builder(1000);
  const auto worker = builder.worker(0);
  builder.add(worker, 40, Kind::started, task, "takes").begin_message(worker, 50, message, task);
  builder.pair(worker, 51, Kind::signals_awaited, message, {4, 3});
  builder.pair(worker, 70, Kind::signal_arrived, 0, {1, 4}).pair(worker, 80, Kind::signal_arrived, 0, {3, 6});
  builder.pair(worker, 81, Kind::message_ended, message, {unknown_number, 6}).add(worker, 100, Kind::returned, task);
  for (const Message& each : collect(builder).messages) {
    EXPECT_EQ(each.is_signal && each.has_ended, each.tag == 6) << each.tag;
  }
}

TEST(Messages, CommunicationIsHiddenWhileAWorkerComputes) {
  RecordingBuilder builder(1000);
  const auto worker = builder.worker(0);
  builder.slice(worker, 0, 100, other_task).add(worker, 100, Kind::started, task);
  builder.begin_message(worker, 200, message, task).add(worker, 200, Kind::paused, task);
  builder.slice(worker, 200, 500, other_task).begin_message(worker, 500, second_message, other_task);
  builder.pair(worker, 600, Kind::message_ended, message, {1, 1});
  builder.pair(worker, 700, Kind::message_ended, second_message, {1, 1});
  builder.begin_message(worker, 750, third_message, 0).pair(worker, 790, Kind::message_ended, third_message, {1, 1});
  builder.slice(worker, 800, 900, other_task);
  const Summary summary = summarize(builder.recording());
  EXPECT_NEAR(summary.communication, 500 * nanosecond, tolerance);
  EXPECT_NEAR(summary.communication_hidden, 300 * nanosecond, tolerance);
  EXPECT_NEAR(summary.communication_hidden_share(), 0.6, tolerance);
  EXPECT_EQ(summary.io, 0) << "a message is no I/O";
  EXPECT_EQ(summary.hidden_share(), 0);
}

TEST(Messages, ThereIsNoCommunicationWithoutThem) {
  RecordingBuilder builder(1000);
  builder.slice(builder.worker(0), 0, 100, task);
  EXPECT_EQ(summarize(builder.recording()).communication, 0);
  EXPECT_EQ(summarize(builder.recording()).communication_hidden_share(), 0);
}

TEST(Messages, AreRecordedByAnyThreads) {
  start();
  started(task, "sender");
  message_begun(message, task, "call");
  std::thread([] {
    send_posted(message, "channel", 1, 2);
    message_ended(message);
  }).join();
  returned(task);
  stop();
  const Recording recording = Recorder::instance().copy();
  Collector found;
  replay(recording, found);
  ASSERT_EQ(found.messages.size(), 1U);
  EXPECT_EQ(found.messages[0].direction, Direction::send);
  EXPECT_EQ(recording.names[found.messages[0].channel], "channel");
  EXPECT_EQ(recording.operations[found.messages[0].call], "call");
  EXPECT_TRUE(found.messages[0].touches);
}

TEST(Messages, OfASignalTheTaskThatSendsItIsRecorded) {
  start();
  started(task, "sender");
  signal_sent(task, "channel", 1, 2);
  returned(task);
  stop();
  const Recording recording = Recorder::instance().copy();
  Collector found;
  replay(recording, found);
  ASSERT_EQ(found.messages.size(), 1U);
  EXPECT_TRUE(found.messages[0].is_signal);
  EXPECT_EQ(found.messages[0].task, task);
  EXPECT_TRUE(found.messages[0].touches);
  EXPECT_TRUE(found.outstanding.empty()) << "it is outstanding for no time";
}

}  // namespace
}  // namespace dovetail::trace
