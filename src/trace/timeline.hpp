// From events to what they mean: slices of tasks, sleep of workers, and requests in flight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "trace/recorder.hpp"

namespace dovetail::trace {

/// Nanoseconds since the recording began.
using Time = std::int64_t;

/// A region of a space with a name, as a task uses it.
struct NamedAccess {
  std::uint32_t mode = 0;   ///< In `Recording::operations`.
  std::uint32_t space = 0;  ///< In `Recording::names`.
  std::uint64_t begin = 0;
  std::uint64_t length = 0;
};

/// One stretch of a task on one thread.
struct Slice {
  std::size_t thread = 0;  ///< Index in `Recording::threads`.
  Time begin = 0;
  Time end = 0;
  std::uint64_t task = 0;
  std::uint32_t label = 0;
  /// What ended it: `paused`, `returned`, or nothing, where the recording ended first.
  std::optional<Kind> ended_by;
  std::uint32_t pause_reason = 0;
  /// Processor time that it used, together with the slices inside of it. Unset where it was not measured: in slices of less than about a
  /// millisecond.
  std::optional<Time> processor;
  bool continues = false;  ///< It began with `resumed`.
  /// The same number, not 0, for all slices of a task that paused.
  std::uint64_t flow = 0;
  /// When the task was created, had its accesses, and last became ready; where recorded.
  std::optional<Time> created;
  std::optional<Time> dependencies_met;
  std::optional<Time> ready;
  std::vector<NamedAccess> accesses;  ///< Of the task, with its first slice.
};

/// One request, from its submission to its completion.
struct Request {
  std::size_t lane = 0;  ///< The smallest number that no other request had at the time.
  Time begin = 0;
  Time end = 0;
  Transfer transfer = Transfer::none;
  std::uint32_t operation = 0;
  std::uint32_t file = 0;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;
  std::size_t submitter = 0;             ///< Index in `Recording::threads`.
  std::optional<std::size_t> completer;  ///< Unset: it was in flight when the recording ended, and has no result.
  std::int64_t result = 0;
};

/// Receives the parts of a timeline, slices and requests in the order of their ends. Does nothing unless overridden.
class TimelineVisitor {
 public:
  virtual ~TimelineVisitor() = default;
  virtual void slice(const Slice& /*slice*/) {}
  virtual void idle(std::size_t /*thread*/, Time /*begin*/, Time /*end*/) {}
  virtual void failure(std::size_t /*thread*/, Time /*time*/, std::uint64_t /*task*/, std::uint32_t /*label*/,
                       std::uint32_t /*reason*/) {}
  /// A thread blocked for something that has a name.
  virtual void wait(std::size_t /*thread*/, Time /*begin*/, Time /*end*/, std::uint32_t /*reason*/) {}
  virtual void request(const Request& /*request*/) {}
  /// From now on `requests` requests are in flight. Called in the order of time.
  virtual void in_flight(Time /*time*/, std::size_t /*requests*/) {}
};

/// Goes through the recording in the order of time. Takes memory for what is going on at one instant only.
void replay(const Recording& recording, TimelineVisitor& visitor);

/// When the oldest event of a thread happened that lost older ones; else 0.
Time known_since(const Recording& recording, const ThreadEvents& thread);

}  // namespace dovetail::trace
