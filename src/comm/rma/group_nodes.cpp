// A group whose ranks run on several nodes: how they find each other there, and what comes from them.
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <memory>
#include <span>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/clock.hpp"
#include "comm/rma/bootstrap.hpp"
#include "comm/rma/group.hpp"
#include "comm/rma/protocol.hpp"
#include "comm/rma/recorded.hpp"
#include "comm/rma/tcp.hpp"
#include "comm/rma/transport.hpp"

namespace dovetail::comm::rma {

/// What the starter tells the others of a process that is to be reached from other nodes: "token/port/address,address".
struct NodeCard {
  std::uint64_t token = 0;
  std::uint16_t port = 0;
  std::vector<std::string> addresses;
};

namespace {

constexpr std::size_t longest_card = 200;
// A node may have several addresses, and not all of them reach it from everywhere.
constexpr std::chrono::milliseconds longest_trial{5000};
constexpr int milliseconds_between_looks = 1;

std::runtime_error different_providers(int rank, const std::string& theirs, const std::string& ours) {
  return std::runtime_error("Rank " + std::to_string(rank) + " reaches other nodes by " + theirs +
                            ", and this one by " + ours + ": DOVETAIL_FABRIC chooses a provider that all nodes have");
}

std::string text_of(const NodeCard& card) {
  std::string text = std::to_string(card.token) + "/" + std::to_string(card.port) + "/";
  const std::size_t head = text.size();
  for (const std::string& address : card.addresses) {
    if (text.size() + 1 + address.size() <= longest_card) {
      text += (text.size() > head ? "," : "") + address;
    }
  }
  return text;
}

template <class Number>
std::string_view take_number(std::string_view text, Number& number) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  const auto [end, error] = std::from_chars(text.data(), text.data() + slash, number);
  if (error != std::errc() || end != text.data() + slash || slash == text.size()) {
    throw std::runtime_error("A rank on another node has the card \"" + std::string(text) +
                             "\", which is none: do all ranks run the same version of Dovetail?");
  }
  return text.substr(slash + 1);
}

NodeCard parse_card(std::string_view text) {
  NodeCard card;
  text = take_number(text, card.token);
  text = take_number(text, card.port);
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    card.addresses.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return card;
}

std::uint64_t random_token() {
  std::uint64_t token = 0;
  if (getrandom(&token, sizeof token, 0) != sizeof token) {
    throw std::system_error(errno, std::generic_category(), "getrandom");
  }
  return token;
}

Introduction receive_introduction(int socket, std::chrono::milliseconds limit) {
  Connection::Message message;
  message.bytes = receive_framed(socket, limit);
  return read_as<Introduction>(message, 0, any_rank);
}

// Any machine may connect to a port: what it says is perhaps nothing of the protocol, and has no token then.
Introduction introduction_of_any(int socket, std::chrono::milliseconds limit) {
  try {
    return receive_introduction(socket, limit);
  } catch (const std::runtime_error&) {
    return {};
  }
}

void send_introduction(int socket, const Introduction& introduction) {
  send_framed(socket, std::as_bytes(std::span(&introduction, 1)));
}

int error_of(int socket) noexcept {
  int error = 0;
  socklen_t size = sizeof error;
  return getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

// What says that the other node, or the way to it, is gone: its process may be alive.
bool is_of_the_way(int error) noexcept {
  return error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH || error == EHOSTDOWN || error == ENETDOWN;
}

}  // namespace

// The second exchange of cards: a group within one node needs neither ports nor a fabric.
void Group::connect_nodes(Bootstrap& starter) {
  const TcpListener listener;
  const NodeCard own{.token = random_token(), .port = listener.port(), .addresses = addresses_of_node()};
  const std::vector<std::string> cards = starter.exchange(text_of(own));
  for (int lower = 0; lower < rank_; ++lower) {
    if (peer(lower).is_on_other_node) {
      connect_to_node(lower, parse_card(cards[static_cast<std::size_t>(lower)]));
    }
  }
  accept_from_nodes(listener, own.token);
  open_fabric(starter);
}

// An address may be another machine's from here, or that of another rank: so each trial asks for the token.
void Group::connect_to_node(int lower, const NodeCard& card) {
  std::string trials;
  for (const std::string& address : card.addresses) {
    try {
      base::Descriptor socket = connect_to(address, card.port, std::min(limits_.start, longest_trial));
      if (socket.get() < 0) {
        throw std::system_error(errno, std::generic_category());
      }
      send_introduction(socket.get(), {.token = card.token, .rank = rank_, .size = size(), .process = process_});
      const Introduction answer = receive_introduction(socket.get(), limits_.start);
      join(lower, std::move(socket), answer);
      return;
    } catch (const std::exception& error) {
      trials += "; " + address + ", port " + std::to_string(card.port) + ": " + error.what();
    }
  }
  throw std::runtime_error("Rank " + std::to_string(lower) +
                           " runs on another node, or in another network namespace, and cannot be reached" + trials +
                           ". Nodes need a network without a firewall between them");
}

void Group::accept_from_nodes(const TcpListener& listener, std::uint64_t token) {
  const auto is_missing = [&](const auto& each) {
    return each->rank > rank_ && each->is_on_other_node && each->connection == nullptr;
  };
  while (std::ranges::any_of(peers_, is_missing)) {
    base::Descriptor socket = [&] {
      try {
        return listener.accept(limits_.start);
      } catch (const std::system_error& error) {
        if (error.code().value() != ETIMEDOUT) {
          throw;
        }
        const auto missing = std::ranges::find_if(peers_, is_missing);
        throw std::runtime_error("Rank " + std::to_string((*missing)->rank) +
                                 ", on another node, has not begun the group in time (GroupOptions::start_timeout)");
      }
    }();
    const Introduction other = introduction_of_any(socket.get(), std::min(limits_.start, longest_trial));
    if (other.token == token) {
      try {
        send_introduction(socket.get(), {.token = token, .rank = rank_, .size = size(), .process = process_});
        join(other.rank, std::move(socket), other);
      } catch (const std::system_error&) {
        socket = base::Descriptor(-1);  // a rank that ends now is missing still
      }
    }
  }
}

void Group::join(int rank, base::Descriptor socket, const Introduction& introduction) {
  Peer& met = newcomer(introduction, rank);
  end_when_silent(socket.get(), limits_.silent);
  met.connection = std::make_unique<Connection>(std::move(socket), introduction.process);
}

// All have the same provider: `address`, behind its name and a zero.
void Group::open_fabric(Bootstrap& starter) {
  const auto first = std::ranges::find_if(peers_, [](const auto& each) { return each->is_on_other_node; });
  fabric_ = std::make_unique<Fabric>(
      open_transport(starter, local_address((*first)->connection->descriptor()), limits_.start),
      static_cast<FabricArrivals&>(*this), rank_, size());
  const std::string& name = fabric_->name();
  std::vector<std::byte> card(name.size() + 1);
  std::ranges::copy(std::as_bytes(std::span(name)), card.begin());
  std::ranges::copy(fabric_->address(), std::back_inserter(card));
  for (const auto& other : peers_) {
    if (other->is_on_other_node) {
      other->connection->send(card, {});
    }
  }
  for (const auto& other : peers_) {
    if (other->is_on_other_node) {
      const std::vector<std::byte> theirs = other->connection->receive(limits_.start).bytes;
      const auto end = std::ranges::find(theirs, std::byte{});
      const std::string their_name(reinterpret_cast<const char*>(theirs.data()),
                                   static_cast<std::size_t>(end - theirs.begin()));
      if (their_name != name || end == theirs.end()) {
        throw different_providers(other->rank, their_name, name);
      }
      fabric_->add_peer(other->rank, std::span(theirs).subspan(name.size() + 1));
    }
  }
}

bool Group::write_notify(Peer& to, RemoteMemory place, std::span<const std::byte> data, Notification notification,
                         RemoteCall* call) {
  const base::LockGuard lock(to.sending);
  const bool has_room = to.held_back.empty() && takes_room(to);
  if (has_room) {
    record_sent(to.rank, notification, data.size());
  }
  fabric_->write(to.rank, place, data, has_room ? &notification : nullptr, call);
  return has_room;
}

void Group::end_way_to(Peer& gone, Standing standing, base::Fifo<Waiter>& ended) {
  const auto note_end = [&] {
    const int error = error_of(gone.connection->descriptor());
    if (is_of_the_way(error)) {
      gone.why_lost = std::generic_category().message(error);
    } else if (other_end_has_closed(gone.connection->descriptor())) {
      gone.why_lost.clear();  // the kernel of a process that has died closes all that it had
    }
    gone.standing.store(standing, std::memory_order_release);
    return text_of_end(gone.rank, gone);
  };
  fabric_->rank_ended(gone.rank, note_end, ended);
}

void Group::drain_once(base::Fifo<Waiter>& ended) noexcept {
  fabric_->drain(ended);
  take_events(ended);
  pollfd events{descriptor(), POLLIN, 0};
  poll(&events, 1, milliseconds_between_looks);
}

// Other nodes have what was sent to them when they say so, and not when it has left this one.
void Group::part_from_nodes(base::Fifo<Waiter>& failed) noexcept {
  const auto is_waited_for = [&](const auto& each) {
    return each->is_on_other_node && each->standing.load(std::memory_order_relaxed) == Standing::present &&
           !fabric_->has_parted(each->rank);
  };
  for (const auto& other : peers_) {
    if (is_waited_for(other)) {
      fabric_->say_goodbye(other->rank);
    }
  }
  const base::TimePoint end = base::Clock::now() + limits_.silent;
  while (std::ranges::any_of(peers_, is_waited_for) && base::Clock::now() < end) {
    drain_once(failed);
  }
  // What a rank has not answered by now is not waited for any more.
  for (const auto& other : peers_) {
    if (other->is_on_other_node) {
      fabric_->rank_ended(other->rank, [] { return std::string(has_ended_its_group); }, failed);
    }
  }
}

void Group::notified(int rank, Notification notification) noexcept {
  Peer& from = *peers_[static_cast<std::size_t>(rank)];
  if (!own_.from(static_cast<std::size_t>(rank)).put(notification, from.put_here)) {
    lost(rank, "it has sent more notifications than there is room for");
  }
  wake_if_asleep(*peers_[static_cast<std::size_t>(rank_)]);
}

void Group::taken(int rank, std::uint64_t count) noexcept {
  peers_[static_cast<std::size_t>(rank)]->taken_there.store(count, std::memory_order_release);
  if (holds_back()) {
    wake_if_asleep(*peers_[static_cast<std::size_t>(rank_)]);
  }
}

std::uint64_t* Group::number_at(std::uint8_t segment, std::uint64_t offset) noexcept {
  const RemoteSegment* const own =
      peers_[static_cast<std::size_t>(rank_)]->segments[segment].load(std::memory_order_acquire);
  const bool is_there = own != nullptr && own->reach == Reach::mapped && offset % sizeof(std::uint64_t) == 0 &&
                        own->bytes >= sizeof(std::uint64_t) && offset <= own->bytes - sizeof(std::uint64_t);
  return is_there ? reinterpret_cast<std::uint64_t*>(own->data + offset) : nullptr;
}

void Group::said_goodbye(int rank) noexcept {
  peers_[static_cast<std::size_t>(rank)]->has_left.store(true, std::memory_order_release);
}

void Group::left(int rank, std::uint8_t segment) noexcept {
  peers_[static_cast<std::size_t>(rank)]->left_segment.store(segment, std::memory_order_release);
}

// Both ends hear of it by the end of their connection, and in no other way.
void Group::lost(int rank, const std::string& why) noexcept {
  Peer& other = *peers_[static_cast<std::size_t>(rank)];
  if (other.standing.load(std::memory_order_relaxed) == Standing::present && !other.is_lost) {
    other.is_lost = true;
    other.why_lost = why;
    other.connection->end();
  }
}

}  // namespace dovetail::comm::rma
