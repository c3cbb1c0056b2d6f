// How a group begins, and its segments.
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

void Group::add_local(std::uint8_t id, std::uint64_t shared_bytes, std::uint32_t notifications) {
  auto made = std::make_unique<Local>(
      Local{shared_bytes > 0 ? SharedMemory::create("dovetail segment", shared_bytes) : SharedMemory(),
            Notifications(notifications), nullptr});
  const base::LockGuard lock(arriving_);
  locals_[id] = std::move(made);
}

namespace {

// While a segment begins: the other process has ended, or does not begin it.
[[noreturn]] void fail_to_begin(std::uint8_t id, int rank, const Connection& to, const std::system_error& error) {
  const std::string who = "rank " + std::to_string(rank) + " (process " + std::to_string(to.process()) + ")";
  const std::string what = "Segment " + std::to_string(id) + " cannot begin: ";
  switch (error.code().value()) {
    case EPIPE:
    case ECONNRESET:
      throw dovetail::rma::Error(what + who + " has ended", rank);
    case ETIMEDOUT:
      throw OutOfStep(what + who + " does not begin it in time (GroupOptions::start_timeout)");
    case EMFILE:  // the message has been received, and its descriptor has not
      throw std::system_error(error.code(), who);
    default:
      throw OutOfStep(what + who + ": " + error.what());
  }
}

std::string cannot_begin(int rank, std::uint8_t id, const std::exception& error) {
  return "Rank " + std::to_string(rank) + " cannot begin segment " + std::to_string(id) + ": " + error.what();
}

}  // namespace

void Group::tell(int rank, std::uint8_t segment, std::span<const std::byte> bytes,
                 std::span<const int> descriptors) const {
  if (const auto& to = peer(rank).connection) {
    try {
      to->send(bytes, descriptors);
    } catch (const std::system_error& error) {
      fail_to_begin(segment, rank, *to, error);
    }
  }
}

Connection::Message Group::hear(int rank, std::uint8_t segment) const {
  const Connection& from = *peer(rank).connection;
  try {
    return from.receive(limits_.start);
  } catch (const std::system_error& error) {
    fail_to_begin(segment, rank, from, error);
  }
}

// What keeps a segment from beginning, as one rank sees it: that is told to the others. It goes on with all that still answer.
class Group::Beginning {
 public:
  /// @param out_of_step  The group's, whose lock the caller holds as long as this lives.
  Beginning(Group& group, std::uint8_t id, std::string& out_of_step)
      : group_(group), id_(id), out_of_step_(out_of_step) {}

  template <class Action>
  void attempt(const Action& action) {
    try {
      action();
    } catch (const dovetail::rma::Error& error) {
      ended_ = ended_ != nullptr ? ended_ : std::current_exception();
      note(error.what());
    } catch (const OutOfStep& error) {
      out_of_step_ = error.what();
      note(error.what());
    } catch (const tasking::WaitInterrupted&) {
      ended_ = std::current_exception();
      out_of_step_ =
          "Rank " + std::to_string(group_.rank_) + " was interrupted while it began segment " + std::to_string(id_);
      note(out_of_step_);
    } catch (const std::exception& error) {
      note(cannot_begin(group_.rank_, id_, error));
    }
  }
  void note(const std::string& problem) {
    if (problem_.empty()) {
      problem_ = problem;
    }
  }

  template <class Message>
  void tell_all(const Message& message, int descriptor) {
    for (int rank = 0; rank < group_.size(); ++rank) {
      const bool is_passed = descriptor >= 0 && !group_.peer(rank).is_on_other_node;
      attempt([&] {
        group_.tell(rank, id_, std::as_bytes(std::span(&message, 1)), std::span(&descriptor, is_passed ? 1 : 0));
      });
    }
  }
  // `take` is given the rank and its message. After one that does not come in time, none is waited for.
  template <class Take>
  void hear_all(const Take& take) {
    for (int rank = 0; rank < group_.size() && out_of_step_.empty(); ++rank) {
      if (group_.peer(rank).connection != nullptr) {
        attempt([&] { take(rank, group_.hear(rank, id_)); });
      }
    }
  }

  // All of them succeed, or none.
  void agree() {
    tell_all(Verdict::of(problem_), -1);
    hear_all([&](int rank, const Connection::Message& message) { note(read_as<Verdict>(message, 0, rank).text()); });
    if (ended_ != nullptr) {
      std::rethrow_exception(ended_);
    }
    if (!problem_.empty()) {
      throw std::runtime_error(problem_);
    }
  }

 private:
  Group& group_;
  const std::uint8_t id_;
  std::string& out_of_step_;
  std::string problem_;       // the first
  std::exception_ptr ended_;  // of the first rank that has ended, or of Ctrl-C
};

// What keeps this process from memory of another one; empty: nothing.
std::string Group::try_reach(std::uint8_t id, const std::vector<std::unique_ptr<RemoteSegment>>& segments) const {
  for (int rank = 0; rank < size(); ++rank) {
    const auto& theirs = segments[static_cast<std::size_t>(rank)];
    if (theirs != nullptr && theirs->is_of_program && theirs->reach == Reach::kernel) {
      if (const int error = try_program_memory(peer(rank), theirs->data, theirs->bytes); error != 0) {
        return "Rank " + std::to_string(rank_) + " cannot reach the memory that rank " + std::to_string(rank) +
               " uses for segment " + std::to_string(id) + ": " + text_of_refusal(error);
      }
    }
  }
  return {};
}

// What other nodes write into, or change by an atomic operation, may come as soon as they have the offer. So all is there before it is made.
std::pair<Offer, int> Group::offer_own(std::uint8_t id, std::uint64_t bytes, std::uint32_t notifications,
                                       std::byte* program_memory) {
  auto own = std::make_unique<RemoteSegment>();
  Offer offer{.bytes = bytes,
              .notifications = notifications,
              .id = id,
              .program_memory = reinterpret_cast<std::uintptr_t>(program_memory)};
  const base::LockGuard looking(arriving_);
  Local& local = *locals_[id];
  own->data = program_memory != nullptr ? program_memory : local.memory.data();
  own->reach = program_memory != nullptr ? Reach::kernel : Reach::mapped;
  own->bytes = bytes;
  own->notifications = notifications;
  own->is_of_program = program_memory != nullptr;
  if (fabric_ != nullptr && bytes > 0) {
    local.registration = fabric_->register_memory({own->data, bytes});
    offer.of_fabric = local.registration->memory();
  }
  peer(rank_).segments[id].store(own.release(), std::memory_order_release);
  return {offer, local.memory.descriptor()};
}

// Null: the rank has none.
std::unique_ptr<RemoteSegment> Group::segment_of(const Peer& of, std::uint8_t id,
                                                 const Connection::Message& message) const {
  const auto theirs = read_as<Offer>(message, message.descriptors.size(), of.rank);
  const bool is_passed = theirs.bytes > 0 && theirs.program_memory == 0 && !of.is_on_other_node;
  if (theirs.id != id || message.descriptors.size() != (is_passed ? 1U : 0U)) {
    throw std::runtime_error("Rank " + std::to_string(of.rank) + " begins segment " + std::to_string(theirs.id) +
                             " where this one begins segment " + std::to_string(id) +
                             ": all ranks begin their segments in the same order");
  }
  if (theirs.is_none != 0) {
    return nullptr;
  }
  auto made = std::make_unique<RemoteSegment>();
  made->bytes = theirs.bytes;
  made->notifications = theirs.notifications;
  made->is_of_program = theirs.program_memory != 0;
  if (of.is_on_other_node) {
    made->reach = Reach::fabric;
    made->of_fabric = theirs.of_fabric;
  } else if (made->is_of_program) {
    made->reach = Reach::kernel;
    made->data = reinterpret_cast<std::byte*>(theirs.program_memory);  // NOLINT(performance-no-int-to-ptr)
  } else if (is_passed) {
    made->mapped =
        SharedMemory::map(message.descriptors[0], theirs.bytes, "segment of rank " + std::to_string(of.rank));
    made->data = made->mapped.data();
  }
  return made;
}

// Whatever fails here, the others hear of it in the same two rounds.
std::vector<std::unique_ptr<RemoteSegment>> Group::exchange_segments(Beginning& beginning, const Offer& offer,
                                                                     int descriptor) const {
  const auto id = static_cast<std::uint8_t>(offer.id);
  beginning.tell_all(offer, descriptor);
  std::vector<std::unique_ptr<RemoteSegment>> segments(peers_.size());
  beginning.hear_all([&](int rank, const Connection::Message& message) {
    segments[static_cast<std::size_t>(rank)] = segment_of(peer(rank), id, message);
  });
  beginning.note(try_reach(id, segments));
  beginning.agree();
  return segments;
}

// What has no segment must not be written into any more: the program may free its memory.
void Group::remove_own_segment(std::uint8_t id) {
  std::unique_ptr<const RemoteSegment> own;
  std::unique_ptr<Local> local;
  {
    const base::LockGuard looking(arriving_);
    local = std::move(locals_[id]);
  }
  const auto remove = [&] {
    own.reset(peer(rank_).segments[id].exchange(nullptr, std::memory_order_acq_rel));
    if (local != nullptr) {
      local->registration.reset();
    }
  };
  fabric_ != nullptr ? fabric_->while_nothing_arrives(remove) : remove();
}

std::uint8_t Group::add_segment(std::uint64_t bytes, std::uint32_t notifications, std::byte* program_memory) {
  const base::LockGuard lock(adding_);
  const std::uint8_t id = segments_;
  if (id == segment_of_barrier) {
    throw std::length_error("A group has at most " + std::to_string(segment_of_barrier) + " segments");
  }
  if (!out_of_step_.empty()) {
    throw std::runtime_error("No segment can begin in this group any more: " + out_of_step_);
  }
  ++segments_;
  std::pair<Offer, int> own{{.id = id, .is_none = 1}, -1};
  Beginning beginning(*this, id, out_of_step_);
  beginning.attempt([&] {
    add_local(id, program_memory == nullptr ? bytes : 0, notifications);
    own = offer_own(id, bytes, notifications, program_memory);
  });
  try {
    auto segments = exchange_segments(beginning, own.first, own.second);
    for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
      if (segments[rank] != nullptr) {
        peers_[rank]->segments[id].store(segments[rank].release(), std::memory_order_release);
      }
    }
  } catch (...) {
    remove_own_segment(id);
    throw;
  }
  const base::LockGuard looking(arriving_);
  locals_[id]->memory.close_descriptor();  // all have mapped it
  return id;
}

}  // namespace dovetail::comm::rma
