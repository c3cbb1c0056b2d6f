// Messages without a place agreed on before. Each process has a segment with some places for each sender, which uses them in turn. A notification
// says that a place is full, and one in the opposite direction that it is free again.
#include "dovetail/rma_inbox.hpp"

#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "comm/rma/group.hpp"
#include "comm/rma/recorded.hpp"
#include "comm/rma/waiting.hpp"
#include "tasking/pausing_mutex.hpp"

namespace dovetail::rma {
namespace {

constexpr std::uint32_t alignment = 64;
constexpr std::uint32_t most_messages = 1024;

void check(const InboxOptions& options) {
  if (options.bytes > most_copied_bytes || options.messages == 0 || options.messages > most_messages) {
    throw std::invalid_argument("An inbox has messages of at most " + std::to_string(most_copied_bytes) +
                                " bytes, of which 1 to " + std::to_string(most_messages) +
                                " of each sender lie there, not " + std::to_string(options.messages) + " of " +
                                std::to_string(options.bytes) + " bytes");
  }
}

}  // namespace

struct Inbox::State {
  struct To {  // Another process, as its messages are sent.
    tasking::PausingMutex sending;
    std::uint64_t sent GUARDED_BY(sending) = 0;
    bool is_free GUARDED_BY(sending) = true;  // the next place
  };

  State(const Group& made_for, const InboxOptions& made_with)
      : own(&comm::rma::group_of_process()),
        group(made_for),
        options(made_with),
        ranks(static_cast<std::uint32_t>(made_for.size())),
        places(ranks * made_with.messages),
        stride((made_with.bytes + alignment - 1) / alignment * alignment),
        // The size of the segment differs where any option does.
        segment(
            Segment::allocate(made_for, std::size_t{places} * stride + made_with.bytes, {.notifications = 2 * places})),
        to(ranks),
        received(ranks),
        come(places) {
    for (int rank = 0; rank < group.size(); ++rank) {
      const comm::rma::RemoteSegment& theirs = own->segment(rank, segment.id());
      if (theirs.bytes != segment.size() || theirs.notifications != segment.notifications()) {
        throw std::invalid_argument("The inbox of rank " + std::to_string(rank) +
                                    " has other options than that of this one");
      }
    }
  }

  // Of the sender `rank`, in the receiver's segment; for a place that is free again, of the receiver `rank` in the sender's.
  std::uint32_t place(int rank, std::uint64_t message) const noexcept {
    return static_cast<std::uint32_t>(rank) * options.messages + static_cast<std::uint32_t>(message % options.messages);
  }
  std::uint32_t is_full(std::uint32_t place) const noexcept { return place; }
  std::uint32_t is_free(std::uint32_t place) const noexcept { return places + place; }
  std::uint64_t offset(std::uint32_t place) const noexcept { return std::uint64_t{place} * stride; }

  // The sender whose message is received next, if one has come.
  std::optional<int> look() REQUIRES(receiving) {
    comm::rma::Group& in = comm::rma::require_own(own);
    comm::rma::take_what_has_come(in);
    for (std::uint32_t i = 0; i < ranks; ++i) {
      const auto sender = static_cast<int>((next + i) % ranks);
      const std::uint32_t its_place = place(sender, received[static_cast<std::size_t>(sender)]);
      if (come[its_place] == 0) {
        come[its_place] = in.take(segment.id(), is_full(its_place)).value_or(0);
      }
      if (come[its_place] != 0) {
        return sender;
      }
    }
    return std::nullopt;
  }

  // What comes may be a later one of its sender, if that one and the next have come at the same time.
  int wait() REQUIRES(receiving) {
    for (;;) {
      if (const std::optional<int> sender = look()) {
        return *sender;
      }
      const Notified found = notify_wait_any(segment, 0, places);
      come[found.id] = found.value;
    }
  }

  Received take(int sender, std::span<std::byte> into) REQUIRES(receiving) {
    std::uint64_t& number = received[static_cast<std::size_t>(sender)];
    const std::uint32_t its_place = place(sender, number);
    const std::size_t bytes = come[its_place] - 1;
    if (bytes > into.size()) {
      throw std::length_error("A message of " + std::to_string(bytes) + " bytes from rank " + std::to_string(sender) +
                              " does not fit into " + std::to_string(into.size()));
    }
    if (bytes > 0) {
      std::memcpy(into.data(), segment.data() + offset(its_place), bytes);
    }
    give_back(sender, place(group.rank(), number));
    come[its_place] = 0;
    next = static_cast<std::uint32_t>(sender) + 1;
    ++number;
    return {.rank = sender, .bytes = bytes};
  }

  // Neither waits for room, nor for a rank that has ended, which sends no more.
  void give_back(int sender, std::uint32_t its_place) const {
    comm::rma::Group& in = comm::rma::group_of_process();
    const comm::rma::Notification notification{.segment = segment.id(), .id = is_free(its_place), .value = 1};
    comm::rma::record_sent(sender, notification);
    if (in.notify(in.peer(sender), notification)) {
      return;
    }
    auto held = std::make_unique<comm::rma::HeldBack>();
    held->then = comm::rma::Waiter::Then::forget;
    held->notification = notification;
    if (!in.notify(in.peer(sender), notification, held.get())) {
      [[maybe_unused]] const auto* const kept = held.release();
    }
  }

  const comm::rma::Group* const own;
  const Group group;
  const InboxOptions options;
  const std::uint32_t ranks;
  const std::uint32_t places;  // of all senders
  const std::uint32_t stride;  // bytes from one to the next
  const Segment segment;
  std::vector<To> to;
  tasking::PausingMutex receiving;
  std::vector<std::uint64_t> received GUARDED_BY(receiving);  // of each sender, so far
  // Of each place, the value of its notification; 0: it has not been taken.
  std::vector<std::uint32_t> come GUARDED_BY(receiving);
  std::uint32_t next GUARDED_BY(receiving) = 0;  // whose turn it is
};

Inbox Inbox::open(const Group& group, const InboxOptions& options) {
  check(options);
  return Inbox(std::make_shared<State>(group, options));
}

std::size_t Inbox::most_bytes() const noexcept { return state_->options.bytes; }

void Inbox::send(int rank, std::span<const std::byte> message) const {
  State& state = *state_;
  comm::rma::refuse_in_onready("Room for a message");
  if (message.size() > state.options.bytes) {
    throw std::invalid_argument("A message of " + std::to_string(message.size()) + " bytes is longer than the " +
                                std::to_string(state.options.bytes) + " of this inbox (InboxOptions::bytes)");
  }
  comm::rma::Group& in = comm::rma::require_own(state.own);
  comm::rma::require_there(in, in.peer(rank));
  State::To& to = state.to[static_cast<std::size_t>(rank)];
  const base::LockGuard lock(to.sending);
  if (!to.is_free) {
    notify_wait(state.segment, state.is_free(state.place(rank, to.sent)), rank);
    to.is_free = true;
  }
  const std::uint32_t place = state.place(state.group.rank(), to.sent);
  write_notify(message, {.rank = rank, .segment = state.segment.id(), .offset = state.offset(place)},
               {.id = state.is_full(place), .value = static_cast<std::uint32_t>(message.size()) + 1});
  ++to.sent;
  to.is_free = to.sent < state.options.messages;
}

Inbox::Received Inbox::receive(std::span<std::byte> into) const {
  comm::rma::refuse_in_onready("A message");
  State& state = *state_;
  const base::LockGuard lock(state.receiving);
  return state.take(state.wait(), into);
}

std::optional<Inbox::Received> Inbox::try_receive(std::span<std::byte> into) const {
  State& state = *state_;
  if (!state.receiving.try_lock()) {
    return std::nullopt;
  }
  const base::LockGuard lock(state.receiving, std::adopt_lock);
  const std::optional<int> sender = state.look();
  return sender ? std::optional(state.take(*sender, into)) : std::nullopt;
}

}  // namespace dovetail::rma
