// The messages of a timeline: how long each is outstanding, and where its task sends or receives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "trace/event.hpp"
#include "trace/lanes.hpp"
#include "trace/timeline_visitor.hpp"

namespace dovetail::trace {

/// What a task does at an instant.
struct TaskPlace {
  enum Doing : std::uint8_t { waits, runs, has_returned };
  Doing doing = waits;  ///< `waits`: it will begin, or go on.
  std::size_t thread = 0;
  std::uint32_t label = 0;
};

/// Takes the events about messages in the order of time, and what happens to tasks meanwhile. A message that is received for a task which
/// waits is kept until that goes on.
class MessageTimeline {
 public:
  explicit MessageTimeline(TimelineVisitor& visitor) : visitor_(visitor) {}

  /// The task of the message that the event is about; 0: none.
  std::uint64_t task_of(const Event& event) const;
  /// `place`: of that task.
  void apply(Time now, std::size_t thread, const Event& event, const TaskPlace& place);
  /// The task begins or goes on, on that thread.
  void task_runs(Time now, std::size_t thread, std::uint64_t task, std::uint32_t label);
  /// It does neither any more.
  void task_completes(std::uint64_t task);
  /// The recording ends.
  void finish(Time now);

 private:
  struct Open {
    Message message;
    bool awaits = false;  ///< Signals: those from `first` on.
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };

  void begin(Time now, std::size_t thread, const Event& event, const TaskPlace& place);
  void end(Time now, const Event& event, const TaskPlace& place);
  void send_signal(Time now, std::size_t thread, const Event& event, const TaskPlace& place);
  void arrive(Time now, const Event& event);
  void take_signals(Time now, const Open& wait, std::uint32_t only, const TaskPlace& place);
  void count(Time now, const Message& message, bool more);
  void close(Message message, Time now, const TaskPlace& place);
  void tell(const Message& message) { visitor_.message(message); }

  TimelineVisitor& visitor_;
  Lanes lanes_;
  std::unordered_map<std::uint64_t, Open> open_;
  std::multimap<std::uint64_t, Message> arrived_;  ///< By channel and identifier; those of one in the order of arrival.
  std::unordered_map<std::uint64_t, std::vector<Message>> for_waiting_;  ///< By task.
  std::uint64_t order_ = 0;
  std::size_t outstanding_ = 0;  ///< Of tasks.
};

}  // namespace dovetail::trace
