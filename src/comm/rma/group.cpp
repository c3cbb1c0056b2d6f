#include "comm/rma/group.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "comm/rma/connection.hpp"
#include "comm/rma/recorded.hpp"
#include "dovetail/rma_error.hpp"

namespace dovetail::comm::rma {
namespace {

constinit std::atomic<Group*> the_group{nullptr};
constinit std::atomic<unsigned> users{0};

// Of one look and of each rank, so that one that sends much does not hold up what others send.
constexpr unsigned most_arrivals = 64;
// Of a thread that sees to other things, too.
constexpr unsigned most_looks = 8;
// After the end of a connection to another node, for the goodbye. So long later the death of a rank is told.
constexpr std::chrono::milliseconds longest_behind_the_end{20};

std::exception_ptr failure_to_send(const Waiter& held_back, int rank, const std::string& why) {
  return std::make_exception_ptr(dovetail::rma::Error(held_back.text() + " cannot be sent: " + why, rank));
}

void no_group_in_child() noexcept {
  if (const Group* const of_parent = the_group.load(std::memory_order_relaxed)) {
    of_parent->close_copies();
  }
  the_group.store(nullptr, std::memory_order_relaxed);
  users.store(0, std::memory_order_relaxed);  // other threads' are not here
}

}  // namespace

std::string text_of_end(int rank, const Peer& peer) {
  const std::string process =
      "rank " + std::to_string(rank) + " (process " + std::to_string(peer.connection->process()) + ") ";
  const Standing standing = peer.standing.load(std::memory_order_acquire);
  if (standing != Standing::died && peer.says_goodbye()) {
    return process + "has ended its group";
  }
  return standing == Standing::present || peer.why_lost.empty()
             ? process + "has died"
             : process + "cannot be reached any more (" + peer.why_lost + ")";
}

// The child of a fork has one thread; another one of the parent may have had the lock.
Group::~Group() NO_THREAD_SAFETY_ANALYSIS {
  if (process_ != getpid()) {
    // What ends a fabric would end that of the parent.
    const auto keep = [](const std::unique_ptr<Local>& local) {
      if (local != nullptr) {
        [[maybe_unused]] const auto* const kept = local->registration.release();
      }
    };
    std::ranges::for_each(locals_, keep);
    std::ranges::for_each(unfinished_, keep, &Ending::local);
    [[maybe_unused]] const auto* const kept = fabric_.release();
  }
}

void Group::close_copies() const noexcept {
  for (const auto& other : peers_) {
    if (other->is_on_other_node) {
      dup3(bell_.get(), other->connection->descriptor(),
           O_CLOEXEC);  // the number stays taken until the copy of the group goes
    }
  }
}

Group* Group::current() noexcept { return the_group.load(std::memory_order_acquire); }

Group::Use::Use() noexcept {
  users.fetch_add(1, std::memory_order_seq_cst);
  group_ = the_group.load(std::memory_order_seq_cst);
}

Group::Use::~Use() { users.fetch_sub(1, std::memory_order_release); }

void Group::make_current() {
  static const int refused = pthread_atfork(nullptr, nullptr, no_group_in_child);
  if (refused != 0) {
    throw std::system_error(refused, std::generic_category(), "pthread_atfork");
  }
  the_group.store(this, std::memory_order_release);
}

void Group::refuse_rank(int rank) const {
  throw std::invalid_argument("rank " + std::to_string(rank) + " is none of the group's, which has " +
                              std::to_string(size()));
}

void Group::refuse_segment(int rank, std::uint8_t id) {
  throw std::out_of_range("rank " + std::to_string(rank) + " has no segment " + std::to_string(id) +
                          ": it has not begun, or has been ended");
}

void Group::wake_if_asleep(const Peer& peer) const noexcept {
  if (!peer.is_on_other_node && peer.mailbox.must_ring()) {
    const std::uint64_t one = 1;
    // Full means that it has been rung already.
    [[maybe_unused]] const ssize_t written = write(peer.bell.get(), &one, sizeof one);
  }
}

bool Group::takes_room(Peer& to) noexcept {
  const bool has_room = to.sent - to.taken_there.load(std::memory_order_acquire) < Ring::capacity;
  to.sent += has_room ? 1 : 0;
  return has_room;
}

bool Group::put(Peer& to, Notification notification) noexcept {
  if (!to.is_on_other_node) {
    return to.mailbox.from(static_cast<std::size_t>(rank_)).put(notification, to.sent);
  }
  if (!takes_room(to)) {
    return false;
  }
  fabric_->notify(to.rank, notification);
  return true;
}

bool Group::notify(Peer& to, Notification notification, HeldBack* otherwise) noexcept {
  bool is_put = false;
  {
    const base::LockGuard lock(to.sending);
    is_put = to.held_back.empty() && put(to, notification);
    if (!is_put && otherwise != nullptr) {
      to.held_back.push(*otherwise);
      held_back_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  wake_if_asleep(to);
  return is_put;
}

void Group::put_held_back(base::Fifo<Waiter>& put_now) noexcept {
  for (int rank = 0; rank < size(); ++rank) {
    const auto& to = peers_[static_cast<std::size_t>(rank)];
    const std::size_t before = put_now.size();
    {
      const base::LockGuard lock(to->sending);
      // A process that is gone makes no room any more, and takes nothing.
      const bool is_gone = to->standing.load(std::memory_order_relaxed) != Standing::present;
      while (!to->held_back.empty() &&
             (is_gone || put(*to, static_cast<const HeldBack*>(to->held_back.front())->notification))) {
        Waiter& next = *to->held_back.pop();
        if (is_gone) {
          next.cause = failure_to_send(next, rank, text_of_end(rank, *to));
        }
        put_now.push(next);
      }
    }
    if (put_now.size() > before) {
      held_back_.fetch_sub(put_now.size() - before, std::memory_order_relaxed);
      wake_if_asleep(*to);
    }
  }
}

bool Group::is_for_all(const Await& await) noexcept {
  return await.from == any_rank || await.segment == segment_of_barrier;
}

Notifications& Group::notifications_of(std::uint8_t segment) {
  if (locals_[segment] == nullptr) {
    throw std::out_of_range("segment " + std::to_string(segment) + " has been ended");
  }
  return locals_[segment]->notifications;
}

// A wait that begins after the end of the rank that it names fails. When a process has died, so does a wait for any rank: the sender may be the one
// that is gone.
bool Group::await(Await& await) {
  const base::LockGuard lock(arriving_);
  Notifications& notifications = notifications_of(await.segment);
  const bool has_come = notifications.await(await);
  record_begin(await);
  if (has_come) {
    record_end(await);
    return true;
  }
  int gone = is_for_all(await) ? died_ : any_rank;
  if (await.from != any_rank && peer(await.from).standing.load(std::memory_order_relaxed) != Standing::present) {
    gone = await.from;
  }
  if (gone == any_rank) {
    return false;
  }
  notifications.forget(await);
  await.cause = failure_of(await, gone);
  record_end(await);
  return true;
}

bool Group::take_and_try(Await& await, base::Fifo<Waiter>& ended) {
  const base::LockGuard lock(arriving_);
  if (has_arrivals()) {
    take_up_to(Ring::capacity, ended);
  }
  Notifications& notifications = notifications_of(await.segment);
  if (!notifications.has_come(await)) {
    return false;
  }
  notifications.await(await);
  record_begin(await);
  record_end(await);
  return true;
}

std::optional<std::uint32_t> Group::take(std::uint8_t segment, std::uint32_t id) {
  const base::LockGuard lock(arriving_);
  const std::optional<std::uint32_t> taken = notifications_of(segment).take(id);
  if (taken) {
    record_take(segment, id);
  }
  return taken;
}

bool Group::has_arrivals() const noexcept {
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    if (own_.from(rank).holds_next(taken_[rank].load(std::memory_order_relaxed))) {
      return true;
    }
  }
  return false;
}

void Group::take_up_to(unsigned most, base::Fifo<Waiter>& ended) noexcept {
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    std::uint64_t next = taken_[rank].load(std::memory_order_relaxed);
    for (unsigned arrivals = 0; arrivals < most; ++arrivals) {
      const std::optional<Notification> taken = own_.from(rank).take(next);
      if (!taken) {
        break;
      }
      const auto& local = locals_[taken->segment];
      if (local == nullptr || taken->id >= local->notifications.size()) {
        continue;  // the sender looks that up; so this is no notification
      }
      record_arrived(static_cast<int>(rank), *taken);
      if (Await* const done = local->notifications.arrive(taken->id, taken->value)) {
        record_end(*done);
        ended.push(*done);
      }
    }
    taken_[rank].store(next, std::memory_order_relaxed);
    // Told a few times for each ring: a sender that has filled it waits for that.
    if (peers_[rank]->is_on_other_node && next - told_[rank] >= Ring::capacity / 4) {
      told_[rank] = next;
      fabric_->say_taken(static_cast<int>(rank), next);
    }
  }
}

void Group::take_arrived(base::Fifo<Waiter>& ended) noexcept {
  if (has_arrivals() && arriving_.try_lock()) {
    const base::LockGuard lock(arriving_, std::adopt_lock);
    take_up_to(most_arrivals, ended);
  }
}

void Group::take_all_arrived(base::Fifo<Waiter>& ended) noexcept {
  if (has_arrivals()) {
    const base::LockGuard lock(arriving_);
    take_up_to(Ring::capacity, ended);
  }
}

std::exception_ptr Group::failure_of(const Await& await, int rank) const {
  const std::string why = rank == rank_ ? has_ended_its_group : text_of_end(rank, peer(rank));
  return std::make_exception_ptr(dovetail::rma::Error(await.text() + " will not come: " + why, rank));
}

void Group::fail_waits_of(Local& local, const std::function<std::exception_ptr(const Await&)>& failure_of,
                          base::Fifo<Waiter>& failed) noexcept {
  base::Fifo<Waiter> concerned;
  local.notifications.for_each([&](Await& await) {
    if (await.cause != nullptr) {
      return;
    }
    await.cause = failure_of(await);
    if (await.cause != nullptr) {
      record_end(await);
      concerned.push(await);
    }
  });
  while (Waiter* const await = concerned.pop()) {
    local.notifications.forget(*static_cast<Await*>(await));
    failed.push(*await);
  }
}

template <class Concerns>
void Group::fail_waits(const Concerns& concerns, int rank, base::Fifo<Waiter>& failed) noexcept {
  for (const auto& local : locals_) {
    if (local != nullptr) {
      fail_waits_of(
          *local, [&](const Await& await) { return concerns(await) ? failure_of(await, rank) : nullptr; }, failed);
    }
  }
}

void Group::end(base::Fifo<Waiter>& failed) noexcept {
  if (process_ != getpid()) {
    return;
  }
  the_group.store(nullptr, std::memory_order_seq_cst);
  while (users.load(std::memory_order_seq_cst) != 0) {
    std::this_thread::yield();  // polls, which are short
  }
  own_.say_goodbye();
  for (const auto& to : peers_) {
    const base::LockGuard lock(to->sending);
    while (Waiter* const sent = to->held_back.pop()) {
      sent->cause = failure_to_send(*sent, rank_, has_ended_its_group);
      failed.push(*sent);
    }
  }
  if (fabric_ != nullptr) {
    part_from_nodes(failed);
  }
  const base::LockGuard lock(arriving_);
  fail_waits([](const Await&) { return true; }, rank_, failed);
  for (const auto& to : peers_) {
    if (to->connection != nullptr) {
      to->connection->end();
    }
  }
}

void Group::for_each_wait(const std::function<void(const Waiter&)>& visit) const {
  if (fabric_ != nullptr) {
    fabric_->for_each_wait(visit);
  }
  const base::LockGuard lock(arriving_);
  for (const auto& local : locals_) {
    if (local != nullptr) {
      local->notifications.for_each([&](const Await& await) { visit(await); });
    }
  }
}

bool Group::may_sleep() noexcept {
  is_looked_at_.store(false, std::memory_order_relaxed);
  own_.say_asleep();
  if (has_arrivals()) {
    own_.say_awake();
    return false;
  }
  if (fabric_ != nullptr) {
    fabric_->hand_over();
  }
  return true;
}

void Group::look(base::Fifo<Waiter>& ended) noexcept {
  progress(ended);
  take_arrived(ended);
  if (holds_back()) {
    put_held_back(ended);
  }
}

// Without the bell, the rest would wait for the clock: a process that is awake is not rung for.
void Group::look_and_sleep(base::Fifo<Waiter>& ended) noexcept {
  for (unsigned looks = 0; looks < most_looks; ++looks) {
    look(ended);
    if (may_sleep()) {
      return;
    }
  }
  ring_for_what_is_left();
}

void Group::ring_for_what_is_left() noexcept {
  own_.say_asleep();
  if (has_arrivals()) {
    wake_if_asleep(peer(rank_));
  }
}

bool Group::must_take_events() noexcept { return has_long_not_looked() || !own_.says_asleep(); }

// What it had sent before its end comes first. The messages come another way than the end of the connection, so the last one may be late.
void Group::take_last_of(const Peer& gone, base::Fifo<Waiter>& ended) noexcept {
  const base::TimePoint end = base::Clock::now() + longest_behind_the_end;
  do {
    fabric_->drain(ended);
  } while (!gone.says_goodbye() && base::Clock::now() < end);
}

void Group::take_events(base::Fifo<Waiter>& ended) noexcept {
  std::array<epoll_event, 16> events;
  bool silenced = false;
  for (const epoll_event& event : watched_.look(events)) {
    const auto rank = static_cast<int>(event.data.u32);
    if (rank == rank_) {
      std::uint64_t rung = 0;
      [[maybe_unused]] const ssize_t taken = read(bell_.get(), &rung, sizeof rung);
      silenced = true;
      continue;
    }
    Peer& gone = peer(rank);
    watched_.remove(gone.connection->descriptor());
    watched_.remove(gone.connection->life());
    if (gone.is_on_other_node) {
      take_last_of(gone, ended);
    }
    const base::LockGuard lock(arriving_);
    if (gone.standing.load(std::memory_order_relaxed) != Standing::present) {
      continue;  // another thread was faster
    }
    const Standing standing = gone.says_goodbye() ? Standing::left : Standing::died;
    take_up_to(Ring::capacity, ended);
    if (gone.is_on_other_node) {
      end_way_to(gone, standing, ended);
    } else {
      gone.standing.store(standing, std::memory_order_release);
    }
    if (standing == Standing::died && died_ == any_rank) {
      died_ = rank;
    }
    fail_waits(
        [&](const Await& await) { return await.from == rank || (is_for_all(await) && standing == Standing::died); },
        rank, ended);
  }
  // It was rung for another thread, which may sleep and not hear it any more. So this one takes what it was rung for, and lets it be rung again.
  if (silenced) {
    take_all_arrived(ended);
    ring_for_what_is_left();
  }
}

}  // namespace dovetail::comm::rma
