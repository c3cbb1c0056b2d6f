// The parts of a timeline, and what receives them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "trace/event.hpp"
#include "trace/trace.hpp"

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
  std::uint64_t made = 0;             ///< How many tasks were created until it was, with it. 0: that was not recorded.
};

/// One request, from its submission to its completion.
struct RequestSpan {
  /// The smallest number that no other request had at the time; of what is read ahead, that no other of these had.
  std::size_t lane = 0;
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

/// Which way a message goes; `none`: that is not known, or it goes both ways, as in a collective.
enum class Direction : std::uint8_t { none, send, receive };

/// An instant on a thread.
struct Touch {
  std::size_t thread = 0;  ///< Index in `Recording::threads`.
  Time time = 0;
};

/// One message between processes, as long as it is outstanding; or a signal, which is that for no time.
struct Message {
  std::size_t lane = 0;  ///< The smallest number that no other message had at the time.
  Time begin = 0;
  Time end = 0;
  Direction direction = Direction::none;
  bool is_signal = false;
  bool has_ended = false;     ///< Else it was outstanding when the recording ended. Of a signal: whether it was taken.
  std::uint32_t call = 0;     ///< In `Recording::operations`.
  std::uint32_t channel = 0;  ///< In `Recording::names`.
  std::uint32_t peer = unknown_number;  ///< A process.
  std::uint32_t tag = unknown_number;
  std::uint64_t bytes = 0;  ///< Of what is sent, where that is recorded.
  std::uint64_t order = 0;  ///< How many took their place before it in this process: unset where `direction` is `none`.
  std::uint64_t task = 0;   ///< 0: of none.
  std::uint32_t label = 0;  ///< Of the task.
  /// In the slice of the task that sends it, or in that with which the task goes on which receives it. Unset where there is none: the task
  /// has returned before, or does not run yet.
  std::optional<Touch> touches;
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
  virtual void request(const RequestSpan& /*request*/) {}
  /// From now on `requests` requests are in flight, without what is read ahead. Called in the order of time.
  virtual void in_flight(Time /*time*/, std::size_t /*requests*/) {}
  /// In no order.
  virtual void message(const Message& /*message*/) {}
  /// From now on so many messages of tasks are outstanding. Called in the order of time.
  virtual void messages_outstanding(Time /*time*/, std::size_t /*messages*/) {}
};

}  // namespace dovetail::trace
