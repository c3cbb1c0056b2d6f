#include "trace/timeline.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/lanes.hpp"
#include "trace/message_timeline.hpp"

namespace dovetail::trace {

namespace {

constexpr std::uint64_t longest_measured = std::uint64_t{1} << 62;

struct TaskState {
  TaskPlace place;
  std::uint64_t flow = 0;
  std::optional<Time> created;
  std::optional<Time> dependencies_met;
  std::optional<Time> ready;
  std::vector<NamedAccess> accesses;
  std::uint64_t made = 0;
};

struct ThreadState {
  std::vector<Slice> open;  // Innermost last.
  std::optional<Time> idle_since;
  bool ran = false;
  bool slept = false;
  Time since = 0;
};

class Replay {
 public:
  Replay(const Recording& recording, TimelineVisitor& visitor)
      : recording_(recording), visitor_(visitor), messages_(visitor) {
    for (const ThreadEvents& thread : recording.threads) threads_.emplace_back().since = known_since(recording, thread);
  }

  void run() {
    // The next event of each thread, earliest first; equal times go by thread.
    using Next = std::pair<std::uint64_t, std::size_t>;
    std::priority_queue<Next, std::vector<Next>, std::greater<>> next;
    std::vector<std::size_t> position(recording_.threads.size());
    const auto offer = [&](std::size_t thread) {
      const auto& events = recording_.threads[thread].events;
      if (position[thread] < events.size()) next.emplace(time(events[position[thread]]), thread);
    };
    for (std::size_t thread = 0; thread < recording_.threads.size(); ++thread) offer(thread);
    while (!next.empty()) {
      const std::size_t thread = next.top().second;
      next.pop();
      apply(thread, recording_.threads[thread].events[position[thread]++]);
      offer(thread);
    }
    finish();
  }

 private:
  std::uint64_t time(const Event& event) const {
    return static_cast<std::uint64_t>(recording_.clock.nanoseconds(ticks_of(event)));
  }

  void apply(std::size_t thread, const Event& event) {
    const auto now = static_cast<Time>(time(event));
    switch (kind_of(event)) {
      case Kind::created:
        tasks_[event.id] = TaskState();
        tasks_[event.id].created = now;
        tasks_[event.id].made = ++made_;
        break;
      case Kind::dependencies_met:
        tasks_[event.id].dependencies_met = now;
        break;
      case Kind::accessed:
        tasks_[event.id].accesses.push_back({operation_of(event), name_of(event), event.value, length_of(event)});
        break;
      case Kind::ready:
        tasks_[event.id].ready = now;
        break;
      case Kind::started:
        begin_slice(thread, now, event, false);
        break;
      case Kind::resumed:
        begin_slice(thread, now, event, true);
        break;
      case Kind::paused:
      case Kind::returned:
        end_slice(thread, now, event);
        break;
      case Kind::completed:
        messages_.task_completes(event.id);
        tasks_.erase(event.id);
        break;
      case Kind::failed:
        visitor_.failure(thread, now, event.id, static_cast<std::uint32_t>(event.value), name_of(event));
        break;
      case Kind::idle_begin:
        threads_[thread].idle_since = now;
        break;
      case Kind::idle_end:
        end_idle(thread, now);
        break;
      case Kind::io_submitted:
      case Kind::read_submitted:
      case Kind::write_submitted:
      case Kind::ahead_submitted:
        begin_request(thread, now, event);
        break;
      case Kind::io_completed:
        end_request(thread, now, event);
        break;
      case Kind::waited:
        visitor_.wait(thread, recording_.clock.nanoseconds(event.value), now, name_of(event));
        break;
      case Kind::message_begun:
      case Kind::send_posted:
      case Kind::receive_posted:
      case Kind::message_ended:
      case Kind::signal_sent:
      case Kind::signal_arrived:
      case Kind::signals_awaited:
        messages_.apply(now, thread, event, place_of(messages_.task_of(event)));
        break;
    }
  }

  TaskPlace place_of(std::uint64_t task) const {
    const auto found = tasks_.find(task);
    return found != tasks_.end() ? found->second.place : TaskPlace();
  }

  void begin_slice(std::size_t thread, Time now, const Event& event, bool continues) {
    TaskState& task = tasks_[event.id];
    if (!continues) task.place.label = name_of(event);
    task.place.doing = TaskPlace::runs;
    task.place.thread = thread;
    messages_.task_runs(now, thread, event.id, task.place.label);
    Slice slice;
    slice.thread = thread;
    slice.begin = now;
    slice.task = event.id;
    slice.label = task.place.label;
    slice.continues = continues;
    slice.flow = continues ? task.flow : 0;
    slice.ready = std::exchange(task.ready, std::nullopt);
    if (!continues) {
      slice.created = task.created;
      slice.dependencies_met = task.dependencies_met;
      slice.accesses = std::move(task.accesses);
      slice.made = task.made;
    }
    threads_[thread].open.push_back(std::move(slice));
    threads_[thread].ran = true;
  }

  void end_slice(std::size_t thread, Time now, const Event& event) {
    ThreadState& state = threads_[thread];
    const auto match = std::find_if(state.open.rbegin(), state.open.rend(),
                                    [&](const Slice& slice) { return slice.task == event.id; });
    if (match == state.open.rend()) {
      if (state.ran) return;
      // It began before the recording did, or before what the ring still holds.
      Slice& slice = state.open.emplace_back();
      slice.thread = thread;
      slice.begin = state.since;
      slice.task = event.id;
      slice.label = tasks_[event.id].place.label;
      state.ran = true;
    } else {
      for (; state.open.back().task != event.id; state.open.pop_back()) close(state.open.back(), now);
    }
    Slice& slice = state.open.back();
    slice.ended_by = kind_of(event);
    tasks_[event.id].place.doing = kind_of(event) == Kind::paused ? TaskPlace::waits : TaskPlace::has_returned;
    if (event.value != 0) slice.processor = static_cast<Time>(std::min(event.value - 1, longest_measured));
    if (kind_of(event) == Kind::paused) {
      slice.pause_reason = name_of(event);
      TaskState& task = tasks_[event.id];
      if (task.flow == 0) task.flow = ++flows_;
      slice.flow = task.flow;
    }
    close(slice, now);
    state.open.pop_back();
  }

  void close(Slice& slice, Time now) {
    slice.end = now;
    if (slice.processor) slice.processor = std::min(*slice.processor, slice.end - slice.begin);
    visitor_.slice(slice);
  }

  void end_idle(std::size_t thread, Time now) {
    ThreadState& state = threads_[thread];
    if (state.idle_since || !state.slept) visitor_.idle(thread, state.idle_since.value_or(state.since), now);
    state.slept = true;
    state.idle_since.reset();
  }

  void begin_request(std::size_t thread, Time now, const Event& event) {
    if (const auto found = requests_.find(event.id); found != requests_.end()) remove(found, now);
    RequestSpan request;
    request.begin = now;
    request.transfer =
        static_cast<Transfer>(static_cast<unsigned>(kind_of(event)) - static_cast<unsigned>(Kind::io_submitted));
    request.lane = lanes_of(request).take();
    request.operation = operation_of(event);
    request.file = name_of(event);
    request.bytes = length_of(event);
    request.offset = event.value;
    request.submitter = thread;
    requests_.emplace(event.id, request);
    ahead_ += request.transfer == Transfer::ahead ? 1 : 0;
    tell_in_flight(now);
  }

  void end_request(std::size_t thread, Time now, const Event& event) {
    const auto found = requests_.find(event.id);
    if (found == requests_.end()) return;
    found->second.completer = thread;
    found->second.result = static_cast<std::int64_t>(event.value);
    remove(found, now);
    tell_in_flight(now);
  }

  void tell_in_flight(Time now) {
    const std::size_t requests = requests_.size() - ahead_;
    if (std::exchange(told_in_flight_, requests) != requests) visitor_.in_flight(now, requests);
  }

  Lanes& lanes_of(const RequestSpan& request) { return request.transfer == Transfer::ahead ? ahead_lanes_ : lanes_; }

  void remove(std::unordered_map<std::uint64_t, RequestSpan>::iterator found, Time now) {
    found->second.end = now;
    visitor_.request(found->second);
    lanes_of(found->second).give_back(found->second.lane);
    ahead_ -= found->second.transfer == Transfer::ahead ? 1 : 0;
    requests_.erase(found);
  }

  void finish() {
    const Time end = recording_.clock.length();
    for (std::size_t thread = 0; thread < threads_.size(); ++thread) {
      for (; !threads_[thread].open.empty(); threads_[thread].open.pop_back()) close(threads_[thread].open.back(), end);
      if (threads_[thread].idle_since) visitor_.idle(thread, *threads_[thread].idle_since, end);
    }
    messages_.finish(end);
    while (!requests_.empty()) remove(requests_.begin(), end);
    tell_in_flight(end);
  }

  const Recording& recording_;
  TimelineVisitor& visitor_;
  std::vector<ThreadState> threads_;
  std::unordered_map<std::uint64_t, TaskState> tasks_;
  std::unordered_map<std::uint64_t, RequestSpan> requests_;
  Lanes lanes_;
  Lanes ahead_lanes_;
  std::size_t ahead_ = 0;  // of the requests, those that read ahead
  std::size_t told_in_flight_ = 0;
  MessageTimeline messages_;
  std::uint64_t flows_ = 0;
  std::uint64_t made_ = 0;
};

}  // namespace

void replay(const Recording& recording, TimelineVisitor& visitor) { Replay(recording, visitor).run(); }

Time known_since(const Recording& recording, const ThreadEvents& thread) {
  if (thread.lost == 0 || thread.events.empty()) return 0;
  return recording.clock.nanoseconds(ticks_of(thread.events.front()));
}

}  // namespace dovetail::trace
