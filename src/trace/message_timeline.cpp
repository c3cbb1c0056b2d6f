#include "trace/message_timeline.hpp"

#include <algorithm>
#include <utility>

namespace dovetail::trace {

namespace {

std::uint64_t key_of(std::uint32_t channel, std::uint32_t identifier) noexcept {
  return make_pair_value({channel, identifier});
}

void send_from(Message& message, Time now, std::size_t thread, const TaskPlace& place) {
  message.label = place.label;
  if (place.doing == TaskPlace::runs && place.thread == thread) message.touches = Touch{thread, now};
}

}  // namespace

std::uint64_t MessageTimeline::task_of(const Event& event) const {
  if (kind_of(event) == Kind::message_begun) return event.value;
  if (kind_of(event) == Kind::signal_sent) return event.id;
  const auto found = open_.find(event.id);
  return found != open_.end() ? found->second.message.task : 0;
}

void MessageTimeline::apply(Time now, std::size_t thread, const Event& event, const TaskPlace& place) {
  switch (kind_of(event)) {
    case Kind::message_begun:
      return begin(now, thread, event, place);
    case Kind::message_ended:
      return end(now, event, place);
    case Kind::signal_sent:
      return send_signal(now, thread, event, place);
    case Kind::signal_arrived:
      return arrive(now, event);
    default:
      break;
  }
  const auto found = open_.find(event.id);
  if (found == open_.end()) return;
  Open& open = found->second;
  const Pair pair = pair_of(event.value);
  open.message.channel = name_of(event);
  if (kind_of(event) == Kind::signals_awaited) {
    open.awaits = true;
    open.first = pair.first;
    open.count = pair.second;
    return;
  }
  open.message.direction = kind_of(event) == Kind::send_posted ? Direction::send : Direction::receive;
  open.message.peer = pair.first;
  open.message.tag = pair.second;
  open.message.bytes = length_of(event);
  open.message.order = order_++;
}

void MessageTimeline::begin(Time now, std::size_t thread, const Event& event, const TaskPlace& place) {
  if (const auto found = open_.find(event.id); found != open_.end()) {  // its end was lost
    lanes_.give_back(found->second.message.lane);
    count(now, found->second.message, false);
    open_.erase(found);
  }
  Message message;
  message.lane = lanes_.take();
  message.begin = now;
  message.call = operation_of(event);
  message.task = event.value;
  send_from(message, now, thread, place);
  open_.emplace(event.id, Open{message});
  count(now, message, true);
}

void MessageTimeline::end(Time now, const Event& event, const TaskPlace& place) {
  const auto found = open_.find(event.id);
  if (found == open_.end()) return;
  Open open = found->second;
  open_.erase(found);
  open.message.has_ended = true;
  const Pair pair = pair_of(event.value);
  if (open.awaits) take_signals(now, open, pair.second, place);
  if (open.message.direction == Direction::receive) {
    open.message.peer = pair.first;
    open.message.tag = pair.second;
  }
  close(open.message, now, place);
  count(now, open.message, false);
}

void MessageTimeline::count(Time now, const Message& message, bool more) {
  if (message.task != 0) visitor_.messages_outstanding(now, more ? ++outstanding_ : --outstanding_);
}

// A receive touches its task where that goes on. A send from an `onready` waits for its task, too, whose name is not known before.
void MessageTimeline::close(Message message, Time now, const TaskPlace& place) {
  message.end = now;
  if (message.label == 0) message.label = place.label;
  lanes_.give_back(message.lane);
  const bool is_received = message.direction == Direction::receive;
  if (is_received) message.touches.reset();
  if (message.task != 0 && place.doing == TaskPlace::waits && (is_received || message.label == 0)) {
    for_waiting_[message.task].push_back(message);
    return;
  }
  if (is_received && place.doing == TaskPlace::runs) message.touches = Touch{place.thread, now};
  tell(message);
}

void MessageTimeline::send_signal(Time now, std::size_t thread, const Event& event, const TaskPlace& place) {
  Message message;
  message.lane = lanes_.take();
  message.begin = message.end = now;
  message.direction = Direction::send;
  message.is_signal = true;
  message.has_ended = true;
  message.channel = name_of(event);
  message.peer = pair_of(event.value).first;
  message.tag = pair_of(event.value).second;
  message.bytes = length_of(event);
  message.order = order_++;
  message.task = event.id;
  send_from(message, now, thread, place);
  lanes_.give_back(message.lane);
  tell(message);
}

void MessageTimeline::arrive(Time now, const Event& event) {
  Message message;
  message.begin = message.end = now;
  message.direction = Direction::receive;
  message.is_signal = true;
  message.channel = name_of(event);
  message.peer = pair_of(event.value).first;
  message.tag = pair_of(event.value).second;
  message.order = order_++;
  arrived_.emplace(key_of(message.channel, message.tag), message);
}

void MessageTimeline::take_signals(Time now, const Open& wait, std::uint32_t only, const TaskPlace& place) {
  if (wait.count == 0) return;
  const std::uint32_t first = only != unknown_number ? only : wait.first;
  const std::uint32_t last = only != unknown_number ? only : std::max(first, first + (wait.count - 1));
  auto signal = arrived_.lower_bound(key_of(wait.message.channel, first));
  while (signal != arrived_.end() && signal->first <= key_of(wait.message.channel, last)) {
    Message message = signal->second;
    signal = arrived_.erase(signal);
    message.has_ended = true;
    message.lane = lanes_.take();
    message.call = wait.message.call;
    message.task = wait.message.task;
    message.label = wait.message.label;
    close(message, std::max(now, message.begin), place);
  }
}

void MessageTimeline::task_runs(Time now, std::size_t thread, std::uint64_t task, std::uint32_t label) {
  if (for_waiting_.empty()) return;
  const auto found = for_waiting_.find(task);
  if (found == for_waiting_.end()) return;
  const std::vector<Message> messages = std::move(found->second);
  for_waiting_.erase(found);
  for (Message message : messages) {
    if (message.direction == Direction::receive) message.touches = Touch{thread, now};
    message.label = label;
    tell(message);
  }
}

void MessageTimeline::task_completes(std::uint64_t task) {
  if (for_waiting_.empty()) return;
  const auto found = for_waiting_.find(task);
  if (found == for_waiting_.end()) return;
  for (const Message& message : found->second) tell(message);
  for_waiting_.erase(found);
}

void MessageTimeline::finish(Time now) {
  for (const auto& [task, messages] : for_waiting_)
    for (const Message& message : messages) tell(message);
  for (const auto& [key, message] : arrived_) tell(message);
  for (auto& [id, open] : open_) {
    open.message.end = now;
    tell(open.message);
  }
  if (outstanding_ > 0) visitor_.messages_outstanding(now, 0);
}

}  // namespace dovetail::trace
