// How segments begin and end. Both are collective: all ranks do it, or none.
#include <poll.h>

#include <algorithm>
#include <memory>
#include <span>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/clock.hpp"
#include "comm/rma/connection.hpp"
#include "comm/rma/group.hpp"
#include "comm/rma/program_memory.hpp"
#include "comm/rma/protocol.hpp"
#include "dovetail/rma_error.hpp"
#include "tasking/interrupt_look.hpp"

namespace dovetail::comm::rma {

void Group::add_local(std::uint8_t id, std::uint64_t shared_bytes, std::uint32_t notifications) {
  auto made = std::make_unique<Local>(
      Local{shared_bytes > 0 ? SharedMemory::create("dovetail segment", shared_bytes) : SharedMemory(),
            Notifications(notifications), nullptr});
  const base::LockGuard lock(arriving_);
  locals_[id] = std::move(made);
}

namespace {

// What all ranks do with a segment.
const char* verb_of(bool ends) noexcept { return ends ? "end" : "begin"; }

std::string deed_of(const Offer& offer) {
  return std::string(verb_of(offer.what == Offer::What::ends)) + "s segment " + std::to_string(offer.id);
}

// The other process has ended, or does not take part.
[[noreturn]] void fail_to_agree(std::uint8_t id, bool ends, int rank, const Connection& to,
                                const std::system_error& error) {
  const std::string who = "rank " + std::to_string(rank) + " (process " + std::to_string(to.process()) + ")";
  const std::string what = "Segment " + std::to_string(id) + " cannot " + verb_of(ends) + ": ";
  switch (error.code().value()) {
    case EPIPE:
    case ECONNRESET:
      throw dovetail::rma::Error(what + who + " has ended", rank);
    case ETIMEDOUT:
      throw OutOfStep(what + who + " does not " + verb_of(ends) + " it in time (GroupOptions::start_timeout)");
    case EMFILE:  // the message has been received, and its descriptor has not
      throw std::system_error(error.code(), who);
    default:
      throw OutOfStep(what + who + ": " + error.what());
  }
}

// What a rank says where this one says `own`. @throws std::runtime_error if that is something else
Offer offer_of(int rank, const Connection::Message& message, const Offer& own) {
  const auto theirs = read_as<Offer>(message, message.descriptors.size(), rank);
  const bool ends = theirs.what == Offer::What::ends;
  if (theirs.id != own.id || ends != (own.what == Offer::What::ends)) {
    throw std::runtime_error("Rank " + std::to_string(rank) + " " + deed_of(theirs) + " where this one " +
                             deed_of(own) + ": all ranks begin and end their segments in the same order");
  }
  return theirs;
}

}  // namespace

// The agreement of all ranks to begin or to end a segment, and what is against it, as one rank sees it: that is told to the others. It goes on with
// all that still answer.
class Group::Agreement {
 public:
  /// @param out_of_step  The group's, whose lock the caller holds as long as this lives.
  Agreement(Group& group, std::uint8_t id, Offer::What what, std::string& out_of_step)
      : group_(group), id_(id), ends_(what == Offer::What::ends), out_of_step_(out_of_step) {}

  template <class Action>
  void attempt(const Action& action) {
    try {
      action();
    } catch (const dovetail::rma::Error& error) {
      death_ = death_ != nullptr ? death_ : std::current_exception();
      if (!ends_) {  // which the others do without it
        note(error.what());
      }
    } catch (const OutOfStep& error) {
      out_of_step_ = error.what();
      note(error.what());
    } catch (const tasking::WaitInterrupted&) {
      interruption_ = std::current_exception();
      out_of_step_ = "Rank " + std::to_string(group_.rank_) + " was interrupted while it " +
                     (ends_ ? "ended" : "began") + " segment " + std::to_string(id_);
      note(out_of_step_);
    } catch (const std::exception& error) {
      note("Rank " + std::to_string(group_.rank_) + " cannot " + verb_of(ends_) + " segment " + std::to_string(id_) +
           ": " + error.what());
    }
  }
  void note(const std::string& problem) {
    if (problem_.empty()) {
      problem_ = problem;
    }
  }

  // `descriptor`: goes to the ranks of this node; negative: none.
  void tell_offer(const Offer& own, int descriptor) { tell_all(own, descriptor); }
  // `take` is given the rank and its message. After one that does not come in time, none is waited for.
  template <class Take>
  void hear_all(const Take& take) {
    for (int rank = 0; rank < group_.size() && out_of_step_.empty(); ++rank) {
      if (const auto& from = group_.peer(rank).connection) {
        attempt([&] { take(rank, through(rank, *from, [&] { return from->receive(group_.limits_.start); })); });
      }
    }
  }

  // All of them succeed, or none.
  void agree() {
    tell_all(Verdict::of(problem_), -1);
    hear_all([&](int rank, const Connection::Message& message) { note(read_as<Verdict>(message, 0, rank).text()); });
    for (const std::exception_ptr& cause : {interruption_, ends_ ? nullptr : death_}) {
      if (cause != nullptr) {
        std::rethrow_exception(cause);
      }
    }
    if (!problem_.empty()) {
      throw std::runtime_error(problem_);
    }
  }
  // @throws dovetail::rma::Error if a rank has ended meanwhile
  void tell_of_death() const {
    if (death_ != nullptr) {
      std::rethrow_exception(death_);
    }
  }

 private:
  template <class Action>
  auto through(int rank, const Connection& connection, const Action& action) const {
    try {
      return action();
    } catch (const std::system_error& error) {
      fail_to_agree(id_, ends_, rank, connection, error);
    }
  }
  template <class Message>
  void tell_all(const Message& message, int descriptor) {
    for (int rank = 0; rank < group_.size(); ++rank) {
      const auto& to = group_.peer(rank).connection;
      const bool is_passed = descriptor >= 0 && !group_.peer(rank).is_on_other_node;
      const auto tell = [&] {
        to->send(std::as_bytes(std::span(&message, 1)), std::span(&descriptor, is_passed ? 1 : 0));
      };
      if (to != nullptr) {
        attempt([&] { through(rank, *to, tell); });
      }
    }
  }

  Group& group_;
  const std::uint8_t id_;
  const bool ends_;
  std::string& out_of_step_;
  std::string problem_;  // the first
  std::exception_ptr interruption_;
  std::exception_ptr death_;  // of the first rank that has ended
};

// What keeps this process from memory of another one; empty: nothing.
std::string Group::try_reach(std::uint8_t id, const RemoteSegments& segments) const {
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
  own->generation = ++generation_;
  if (fabric_ != nullptr && bytes > 0) {
    local.registration = fabric_->register_memory({own->data, bytes});
    offer.of_fabric = local.registration->memory();
  }
  peer(rank_).segments[id].store(own.release(), std::memory_order_release);
  return {offer, local.memory.descriptor()};
}

// Null: the rank has none.
std::unique_ptr<RemoteSegment> Group::segment_of(const Peer& of, const Offer& own, const Connection::Message& message) {
  const Offer theirs = offer_of(of.rank, message, own);
  const bool is_passed = theirs.bytes > 0 && theirs.program_memory == 0 && !of.is_on_other_node;
  if (message.descriptors.size() != (is_passed ? 1U : 0U)) {
    throw std::runtime_error("Rank " + std::to_string(of.rank) + " has not passed its memory of segment " +
                             std::to_string(own.id));
  }
  if (theirs.what == Offer::What::has_none) {
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
Group::RemoteSegments Group::exchange_segments(Agreement& beginning, const Offer& own, int descriptor) const {
  beginning.tell_offer(own, descriptor);
  RemoteSegments segments(peers_.size());
  beginning.hear_all([&](int rank, const Connection::Message& message) {
    segments[static_cast<std::size_t>(rank)] = segment_of(peer(rank), own, message);
  });
  beginning.note(try_reach(static_cast<std::uint8_t>(own.id), segments));
  beginning.agree();
  return segments;
}

// What has no segment must not be written into any more: the program may free its memory.
void Group::remove_own_segment(std::uint8_t id) {
  std::unique_ptr<Local> local;
  {
    const base::LockGuard looking(arriving_);
    local = std::move(locals_[id]);
  }
  release(id, std::move(local));
}

void Group::release(std::uint8_t id, std::unique_ptr<Local> local) {
  std::unique_ptr<const RemoteSegment> own;
  const auto remove = [&] {
    own.reset(peer(rank_).segments[id].exchange(nullptr, std::memory_order_acq_rel));
    if (local != nullptr) {
      local->registration.reset();
    }
  };
  fabric_ != nullptr ? fabric_->while_nothing_arrives(remove) : remove();
}

// The numbers are used in turn: a call with that of a segment that has ended finds none for long, and says so.
std::uint8_t Group::next_number() {
  for (unsigned tried = 0; tried < segment_of_barrier; ++tried) {
    const std::uint8_t number = next_number_;
    next_number_ = static_cast<std::uint8_t>((number + 1) % segment_of_barrier);
    if (!is_number_used_[number]) {
      return number;
    }
  }
  throw std::length_error("A group has at most " + std::to_string(segment_of_barrier) +
                          " segments at a time: Segment::end ends those that are not needed any more");
}

void Group::require_in_step() const {
  if (!out_of_step_.empty()) {
    throw std::runtime_error("No segment can begin or end in this group any more: " + out_of_step_);
  }
}

std::uint8_t Group::add_segment(std::uint64_t bytes, std::uint32_t notifications, std::byte* program_memory) {
  const base::LockGuard lock(adding_);
  require_in_step();
  const std::uint8_t id = next_number();
  std::pair<Offer, int> own{{.id = id, .what = Offer::What::has_none}, -1};
  Agreement beginning(*this, id, Offer::What::begins, out_of_step_);
  beginning.attempt([&]() NO_THREAD_SAFETY_ANALYSIS {
    add_local(id, program_memory == nullptr ? bytes : 0, notifications);
    own = offer_own(id, bytes, notifications, program_memory);
  });
  try {
    RemoteSegments segments = exchange_segments(beginning, own.first, own.second);
    for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
      if (segments[rank] != nullptr) {
        peers_[rank]->segments[id].store(segments[rank].release(), std::memory_order_release);
      }
    }
  } catch (...) {
    remove_own_segment(id);
    throw;
  }
  is_number_used_[id] = true;
  const base::LockGuard looking(arriving_);
  locals_[id]->memory.close_descriptor();  // all have mapped it
  return id;
}

// Its notifications that wait for room have no receiver any more, since all ranks end the segment: they have ended with it. So have the waits for
// those of this process.
void Group::withdraw(Ending& ending, base::Fifo<Waiter>& ended) {
  for (const auto& to : peers_) {
    ending.others.emplace_back(
        to->rank == rank_ ? nullptr : to->segments[ending.id].exchange(nullptr, std::memory_order_acq_rel));
    const base::LockGuard lock(to->sending);
    base::Fifo<Waiter> others;
    while (Waiter* const held_back = to->held_back.pop()) {
      const bool is_of_segment = static_cast<const HeldBack*>(held_back)->notification.segment == ending.id;
      (is_of_segment ? ended : others).push(*held_back);
      held_back_.fetch_sub(is_of_segment ? 1 : 0, std::memory_order_relaxed);
    }
    std::swap(to->held_back, others);
  }
  const base::LockGuard looking(arriving_);
  take_up_to(Ring::capacity, ended);
  const std::string why = " will not come: this process has ended segment " + std::to_string(ending.id);
  fail_waits_of(
      *locals_[ending.id],
      [&](const Await& await) { return std::make_exception_ptr(dovetail::rma::Error(await.text() + why, rank_)); },
      ended);
  ending.local = std::move(locals_[ending.id]);
}

// Ranks of other nodes use the segment until they say that they have left it, behind all else. A read is not behind: so each rank waits for its own.
// @throws OutOfStep
void Group::leave_nodes(const Ending& ending, base::Fifo<Waiter>& ended) {
  std::vector<bool> has_said(peers_.size());
  const auto uses_it = [&](const auto& each) {
    const auto rank = static_cast<std::size_t>(each->rank);
    if (!each->is_on_other_node || each->standing.load(std::memory_order_relaxed) != Standing::present) {
      return false;
    }
    if (!has_said[rank]) {
      const RemoteSegment* const theirs = ending.others[rank].get();
      has_said[rank] = fabric_->leave(each->rank, ending.id, theirs != nullptr ? theirs->of_fabric : RemoteMemory());
    }
    return !has_said[rank] || each->left_segment.load(std::memory_order_acquire) != ending.id;
  };
  const base::TimePoint end = base::Clock::now() + limits_.start;
  for (;;) {
    // All are asked, since each has to be told.
    const auto users = std::ranges::count_if(peers_, uses_it);
    if (users == 0) {
      return;
    }
    if (base::Clock::now() > end) {
      throw OutOfStep("Segment " + std::to_string(ending.id) + " cannot end: " + std::to_string(users) +
                      " ranks of other nodes do not leave it in time (GroupOptions::start_timeout)");
    }
    drain_once(ended);
  }
}

// First all agree, and no call finds it any more; then all that was under way has come, and it is told so; then its memory goes.
void Group::end_segment(std::uint8_t id, const std::string& objection, base::Fifo<Waiter>& ended) {
  const base::LockGuard lock(adding_);
  require_in_step();
  const Offer own{.id = id, .what = Offer::What::ends};
  Agreement agreement(*this, id, Offer::What::ends, out_of_step_);
  bool begins = false;
  agreement.tell_offer(own, -1);
  agreement.hear_all([&](int rank, const Connection::Message& message) {
    begins = begins || read_as<Offer>(message, message.descriptors.size(), rank).what != Offer::What::ends;
    offer_of(rank, message, own);
  });
  if (begins) {
    next_number();  // as there
  }
  if (!objection.empty()) {
    agreement.note("Rank " + std::to_string(rank_) + " cannot end segment " + std::to_string(id) + ": " + objection);
  }
  agreement.agree();
  Ending ending{.id = id, .local = nullptr, .others = {}};
  try {
    withdraw(ending, ended);
    if (fabric_ != nullptr) {
      agreement.attempt([&] { leave_nodes(ending, ended); });
    }
    for (const auto& each : peers_) {
      each->left_segment.store(-1, std::memory_order_relaxed);
    }
    agreement.agree();
  } catch (...) {
    unfinished_.push_back(std::move(ending));  // a rank may use it still
    throw;
  }
  {
    const base::LockGuard looking(arriving_);
    take_up_to(Ring::capacity, ended);  // what is left of its notifications: the number is free then
  }
  release(id, std::move(ending.local));
  is_number_used_[id] = false;
  agreement.tell_of_death();
}

}  // namespace dovetail::comm::rma
