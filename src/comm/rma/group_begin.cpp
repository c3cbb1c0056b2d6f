// How a group begins.
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <span>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "comm/rma/bootstrap.hpp"
#include "comm/rma/checked.hpp"
#include "comm/rma/connection.hpp"
#include "comm/rma/group.hpp"
#include "comm/rma/program_memory.hpp"
#include "comm/rma/protocol.hpp"
#include "dovetail/rma_error.hpp"
#include "tasking/interrupt_look.hpp"

namespace dovetail::comm::rma {
namespace {

// Which processes can have memory in common: same kernel, same names of sockets.
std::string name_of_node() {
  std::string boot = "unknown";
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  struct stat names{};
  const bool known = stat("/proc/self/ns/net", &names) == 0;
  return boot + "." + std::to_string(known ? names.st_ino : 0);
}

// How late the end of a process is noticed at most, while polls find something all the time.
constexpr std::uint64_t microseconds_between_looks = 1000;

}  // namespace

Group::Group(Bootstrap& starter, const Limits& limits)
    : process_(getpid()),
      rank_(starter.rank()),
      ticks_between_looks_(microseconds_between_looks * base::ticks_per_microsecond()),
      limits_(limits),
      taken_(static_cast<std::size_t>(starter.size())),
      told_(taken_.size()) {
  const Listener listener;
  make_mailbox(taken_.size());
  for (int rank = 0; rank < starter.size(); ++rank) {
    peers_.push_back(std::make_unique<Peer>(rank));
  }
  connect(starter.exchange(name_of_node() + ":" + listener.name()), listener);
  if (std::ranges::any_of(peers_, [](const auto& each) { return each->is_on_other_node; })) {
    connect_nodes(starter);
  }
  watch_peers();
  const base::LockGuard lock(adding_);
  add_local(segment_of_barrier, 0, notifications_of_barrier);
  for (const auto& peer : peers_) {
    auto made = std::make_unique<RemoteSegment>();
    made->notifications = notifications_of_barrier;
    peer->segments[segment_of_barrier].store(made.release(), std::memory_order_release);
  }
}

void Group::make_mailbox(std::size_t ranks) {
  mailbox_memory_ = SharedMemory::create("dovetail mailbox", Mailbox::bytes(ranks));
  own_ = Mailbox(mailbox_memory_.data());
  bell_ = base::Descriptor(checked(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd"));
}

// Each process connects to those of lower ranks, of this node first.
void Group::connect(const std::vector<std::string>& cards, const Listener& listener) {
  const std::string node = name_of_node();
  for (std::size_t rank = 0; rank < cards.size(); ++rank) {
    const std::size_t colon = cards[rank].find(':');
    peers_[rank]->is_on_other_node = colon == std::string::npos || cards[rank].substr(0, colon) != node;
  }
  Peer& own = peer(rank_);
  own.mailbox = own_;
  own.bell = base::Descriptor(checked(dup(bell_.get()), "dup"));
  for (int lower = 0; lower < rank_; ++lower) {
    if (!peer(lower).is_on_other_node) {
      const std::string& card = cards[static_cast<std::size_t>(lower)];
      meet(connect_to(card.substr(card.find(':') + 1)), lower);
    }
  }
  for (int higher = rank_ + 1; higher < size(); ++higher) {
    if (!peer(higher).is_on_other_node) {
      meet(listener.accept(limits_.start), -1);
    }
  }
}

void Group::introduce(const Connection& connection) const {
  const Introduction own{.rank = rank_, .size = size(), .process = process_};
  connection.send(std::as_bytes(std::span(&own, 1)), std::array{mailbox_memory_.descriptor(), bell_.get()});
}

// `expected`: the rank at the other end; negative: any.
Peer& Group::newcomer(const Introduction& other, int expected) const {
  if (other.magic != Introduction{}.magic || other.size != size() || other.rank == rank_ || other.rank < 0 ||
      other.rank >= size() || (expected >= 0 && other.rank != expected) || peer(other.rank).connection != nullptr) {
    throw std::runtime_error(
        "A process of another program, or with another version of Dovetail, wants to be of the group");
  }
  return peer(other.rank);
}

void Group::meet(int socket, int expected) {
  auto connection = std::make_unique<Connection>(socket);
  introduce(*connection);
  Connection::Message message = connection->receive(limits_.start);
  Peer& met = newcomer(read_as<Introduction>(message, 2, expected), expected);
  met.mapped_mailbox = SharedMemory::map(message.descriptors[0], Mailbox::bytes(peers_.size()),
                                         "mailbox of rank " + std::to_string(met.rank));
  met.mailbox = Mailbox(met.mapped_mailbox.data());
  met.bell = base::Descriptor(std::exchange(message.descriptors[1], -1));
  met.connection = std::move(connection);
}

void Group::watch_peers() {
  watched_.add(bell_.get(), EPOLLIN, rank_);
  for (int rank = 0; rank < size(); ++rank) {
    if (const auto& connection = peer(rank).connection) {
      watched_.add(connection->descriptor(), EPOLLRDHUP, rank);  // offers of segments are for the thread that makes one
      if (connection->life() >= 0) {
        watched_.add(connection->life(), EPOLLIN, rank);
      }
    }
  }
}

}  // namespace dovetail::comm::rma
