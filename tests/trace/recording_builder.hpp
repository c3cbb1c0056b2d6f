// Recordings with times chosen by the test, one tick being one nanosecond.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "trace/recorder.hpp"
#include "trace/timeline.hpp"

namespace dovetail::trace::test {

class RecordingBuilder {
 public:
  explicit RecordingBuilder(std::uint64_t length) {
    recording_.clock = ClockScale({0, 0}, {length, length});
    recording_.names = {""};
    recording_.operations = {""};
  }

  std::size_t thread(ThreadKind kind, unsigned index, std::uint64_t lost = 0) {
    ThreadEvents thread;
    thread.kind = kind;
    thread.index = index;
    thread.lost = lost;
    recording_.lost += lost;
    recording_.threads.push_back(thread);
    return recording_.threads.size() - 1;
  }
  std::size_t worker(unsigned index, std::uint64_t lost = 0) { return thread(ThreadKind::worker, index, lost); }

  RecordingBuilder& add(std::size_t thread, std::uint64_t time, Kind kind, std::uint64_t id,
                        const std::string& name = {}) {
    return push(thread, {make_stamp(kind, time), id, 0, make_detail(number(recording_.names, name))});
  }
  /// A slice ends that used so much of the processor.
  RecordingBuilder& end(std::size_t thread, std::uint64_t time, Kind kind, std::uint64_t id, std::uint64_t processor) {
    return push(thread, {make_stamp(kind, time), id, processor + 1, 0});
  }
  RecordingBuilder& fail(std::size_t thread, std::uint64_t time, std::uint64_t id, const std::string& label,
                         const std::string& reason) {
    return push(thread, {make_stamp(Kind::failed, time), id, number(recording_.names, label),
                         make_detail(number(recording_.names, reason))});
  }
  RecordingBuilder& slice(std::size_t thread, std::uint64_t begin, std::uint64_t end, std::uint64_t id,
                          const std::string& label = {}) {
    return add(thread, begin, Kind::started, id, label).add(thread, end, Kind::returned, id);
  }
  RecordingBuilder& submit(std::size_t thread, std::uint64_t time, Kind kind, std::uint64_t id, std::uint64_t bytes,
                           std::uint64_t offset = 0, const std::string& operation = "pread",
                           const std::string& file = "a") {
    return push(thread, {make_stamp(kind, time), id, offset,
                         make_detail(number(recording_.names, file), number(recording_.operations, operation), bytes)});
  }
  RecordingBuilder& access(std::size_t thread, std::uint64_t time, std::uint64_t id, const std::string& mode,
                           const std::string& space, std::uint64_t begin, std::uint64_t length) {
    return submit(thread, time, Kind::accessed, id, length, begin, mode, space);
  }
  RecordingBuilder& complete(std::size_t thread, std::uint64_t time, std::uint64_t id, std::int64_t result) {
    return push(thread, {make_stamp(Kind::io_completed, time), id, static_cast<std::uint64_t>(result), 0});
  }

  RecordingBuilder& begin_message(std::size_t thread, std::uint64_t time, std::uint64_t id, std::uint64_t task,
                                  const std::string& call = "call") {
    return push(thread,
                {make_stamp(Kind::message_begun, time), id, task, make_detail(0, number(recording_.operations, call))});
  }
  /// Of the other events about messages and signals.
  RecordingBuilder& pair(std::size_t thread, std::uint64_t time, Kind kind, std::uint64_t id, Pair pair,
                         const std::string& channel = "channel", std::uint64_t bytes = 0) {
    return push(thread, {make_stamp(kind, time), id, make_pair_value(pair),
                         make_detail(number(recording_.names, channel), 0, bytes)});
  }
  RecordingBuilder& process(int rank, int size) {
    recording_.process = {rank, size};
    return *this;
  }

  const Recording& recording() const { return recording_; }

 private:
  RecordingBuilder& push(std::size_t thread, const Event& event) {
    recording_.threads[thread].events.push_back(event);
    return *this;
  }
  static std::uint64_t number(std::vector<std::string>& names, const std::string& name) {
    const auto found = std::find(names.begin(), names.end(), name);
    const auto index = static_cast<std::uint64_t>(found - names.begin());
    if (found == names.end()) names.push_back(name);
    return index;
  }

  Recording recording_;
};

/// Keeps all that a replay reports.
struct Collector final : TimelineVisitor {
  struct Idle {
    std::size_t thread;
    Time begin;
    Time end;
  };
  struct Change {
    Time time;
    std::size_t requests;
  };
  void slice(const Slice& each) override { slices.push_back(each); }
  void idle(std::size_t thread, Time begin, Time end) override { idles.push_back({thread, begin, end}); }
  void failure(std::size_t, Time time, std::uint64_t, std::uint32_t, std::uint32_t) override {
    failures.push_back(time);
  }
  void request(const RequestSpan& each) override { requests.push_back(each); }
  void in_flight(Time time, std::size_t count) override { changes.push_back({time, count}); }

  void message(const Message& each) override { messages.push_back(each); }
  void messages_outstanding(Time time, std::size_t count) override { outstanding.push_back({time, count}); }

  std::vector<Slice> slices;
  std::vector<Idle> idles;
  std::vector<Time> failures;
  std::vector<RequestSpan> requests;
  std::vector<Change> changes;
  std::vector<Message> messages;
  std::vector<Change> outstanding;
};

}  // namespace dovetail::trace::test
