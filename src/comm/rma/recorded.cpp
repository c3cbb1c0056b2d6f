#include "comm/rma/recorded.hpp"

#include <array>
#include <cstdio>
#include <string_view>

#include "comm/rma/peer.hpp"

namespace dovetail::comm::rma::recorded {
namespace {

class ChannelName {
 public:
  explicit ChannelName(unsigned segment) noexcept { std::snprintf(text_.data(), text_.size(), "segment %u", segment); }
  std::string_view view() const noexcept { return text_.data(); }

 private:
  std::array<char, 24> text_;
};

// Not shown: all ranks take part, and some begin before they record.
bool is_of_barrier(Notification notification) noexcept { return notification.segment == Peer::most_segments - 1; }

std::uint64_t task_number(const Task* task) noexcept { return task != nullptr ? trace::number_of(task) : 0; }

}  // namespace

void sent(int to, Notification notification, std::size_t bytes) noexcept {
  if (is_of_barrier(notification)) {
    return;
  }
  trace::signal_sent(task_number(tasking::task_that_binds()), ChannelName(notification.segment).view(),
                     static_cast<std::uint32_t>(to), notification.id, bytes);
}

void arrived(int from, Notification notification) noexcept {
  if (is_of_barrier(notification)) {
    return;
  }
  trace::signal_arrived(ChannelName(notification.segment).view(), static_cast<std::uint32_t>(from), notification.id);
}

void begin(const Await& await) noexcept {
  trace::message_begun(trace::number_of(&await), task_number(await.task), "wait for notifications");
  trace::signals_awaited(trace::number_of(&await), ChannelName(await.segment).view(), await.first, await.count);
}

void end(const Await& await) noexcept {
  const bool is_one = await.for_any && !await.cause;
  trace::message_ended(trace::number_of(&await), trace::unknown_number, is_one ? await.found : trace::unknown_number);
}

void take(std::uint8_t segment, std::uint32_t id) noexcept {
  Await taken;
  taken.task = tasking::task_that_binds();
  taken.segment = segment;
  taken.first = id;
  begin(taken);
  end(taken);
}

}  // namespace dovetail::comm::rma::recorded
