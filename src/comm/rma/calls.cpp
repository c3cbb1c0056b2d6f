// The functions of <dovetail/rma.hpp>.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "comm/rma/bootstrap.hpp"
#include "comm/rma/engine.hpp"
#include "comm/rma/fabric_thread.hpp"
#include "comm/rma/group.hpp"
#include "comm/rma/program_memory.hpp"
#include "comm/rma/recorded.hpp"
#include "comm/rma/remote_calls.hpp"
#include "comm/rma/waiting.hpp"
#include "dovetail/rma.hpp"
#include "tasking/pause.hpp"

namespace dovetail::rma {
namespace {

using comm::rma::Await;
using comm::rma::Engine;
using comm::rma::HeldBack;
using comm::rma::Message;
using comm::rma::Notification;
using comm::rma::Peer;
using comm::rma::Reach;
using comm::rma::RemoteSegment;
using comm::rma::Waiter;
using detail::Task;
using State = comm::rma::Group;

State& group() { return comm::rma::group_of_process(); }

// Where something goes, or comes from.
struct Target {
  Peer& peer;
  const RemoteSegment& segment;
};

Target target_of(const State& in, int rank, std::uint8_t segment) {
  if (segment == State::segment_of_barrier) [[unlikely]] {
    throw std::out_of_range("segment " + std::to_string(segment) + " of rank " + std::to_string(rank) +
                            " is for barriers; a group has at most " + std::to_string(segment) + " others");
  }
  Peer& peer = in.peer(rank);
  return {peer, State::segment(peer, segment)};
}

void require_bytes(const Target& target, const Remote& at, std::uint64_t bytes) {
  const RemoteSegment& segment = target.segment;
  if (at.offset > segment.bytes || bytes > segment.bytes - at.offset) [[unlikely]] {
    throw std::out_of_range("bytes " + std::to_string(at.offset) + " to " + std::to_string(at.offset + bytes) +
                            " are beyond segment " + std::to_string(at.segment) + " of rank " +
                            std::to_string(at.rank) + ", which has " + std::to_string(segment.bytes));
  }
}

// Of a rank that has not ended.
Target place_of(State& in, const Remote& at, std::uint64_t bytes) {
  comm::rma::require_there(in, in.peer(at.rank));
  const Target target = target_of(in, at.rank, at.segment);
  require_bytes(target, at, bytes);
  return target;
}

comm::rma::ProgramMemory program_memory(const Target& target, const Remote& at) {
  return {.peer = target.peer,
          .rank = at.rank,
          .segment = at.segment,
          .offset = at.offset,
          .there = target.segment.data + at.offset};
}

void require_notification(const Target& target, std::uint8_t segment, std::uint32_t id) {
  if (id >= target.segment.notifications) [[unlikely]] {
    throw std::out_of_range("notification " + std::to_string(id) + " is beyond segment " + std::to_string(segment) +
                            " of rank " + std::to_string(target.peer.rank) + ", which has " +
                            std::to_string(target.segment.notifications));
  }
}

void require_notification(const Target& target, std::uint8_t segment, const Notify& notification) {
  require_notification(target, segment, notification.id);
  if (notification.value == 0) [[unlikely]] {
    throw std::invalid_argument("notification " + std::to_string(notification.id) +
                                " has the value 0, which is no value of a notification");
  }
}

// To a rank that has not ended. `bytes`: of what was written before.
void send(State& in, Peer& to, std::uint8_t segment, const Notify& sent, std::size_t bytes = 0) {
  const Notification notification{.segment = segment, .id = sent.id, .value = sent.value};
  comm::rma::record_sent(to.rank, notification, bytes);
  if (in.notify(to, notification)) [[likely]] {
    return;
  }
  Task* const task = tasking::task_that_binds();
  if (task == nullptr) {
    comm::rma::block_until(in, [&] {
      comm::rma::require_there(in, to);
      return in.notify(to, notification);
    });
    return;
  }
  auto held = std::make_unique<HeldBack>();
  held->notification = notification;
  comm::rma::bind_to_task(task, std::move(held),
                          [&](HeldBack& entered) { return in.notify(to, notification, &entered); });
}

// What the wait is for. `from`: that rank's end is asked for with the wait itself, since what it has sent before is taken.
void aim(Await& await, State& in, std::uint8_t segment, std::uint32_t first, std::uint32_t count, int from) {
  const std::uint32_t most = in.segment(in.rank(), segment).notifications;
  if (count == 0 || first >= most || count > most - first) {
    throw std::out_of_range("notifications " + std::to_string(first) + " to " +
                            std::to_string(std::uint64_t{first} + count) + " are beyond segment " +
                            std::to_string(segment) + " of this rank, which has " + std::to_string(most));
  }
  if (from != anyone) {
    in.peer(from);
  }
  await.segment = segment;
  await.from = from;
  await.first = first;
  await.count = count;
}

void require_begun(const Segment& segment) {
  if (segment.is_ended()) [[unlikely]] {
    throw std::out_of_range("segment " + std::to_string(segment.id()) + " has been ended");
  }
}

// The wait is for notifications of the segment.
void aim(Await& await, State& in, const Segment& segment, std::uint32_t first, std::uint32_t count, int from) {
  require_begun(segment);
  aim(await, in, segment.id(), first, count, from);
}

// Returns when it has ended.
void wait_for(State& in, Await& await) {
  await.task = tasking::current_task();
  if (!comm::rma::comes_in_a_moment(in, await)) {
    comm::rma::wait(in, await, "bind it by notify_await instead", [&] { return in.await(await); });
  }
}

}  // namespace

Error::Error(const std::string& what, int rank) : std::runtime_error(what), rank_(rank) {}

Group Group::start(const GroupOptions& options) {
  if (State::current() != nullptr) {
    throw std::logic_error("This process has a group already");
  }
  // What is longer is for ever, too, and fits what is added to a time.
  constexpr std::chrono::hours longest{24 * 365};
  const State::Limits limits{.start = std::min<std::chrono::milliseconds>(options.start_timeout, longest),
                             .silent = std::min<std::chrono::milliseconds>(options.silence_timeout, longest)};
  const auto starter = comm::rma::find_bootstrap(limits.start);
  auto begun = std::make_unique<State>(*starter, limits);
  auto thread = begun->fabric() != nullptr ? std::make_shared<comm::rma::FabricThread>(*begun) : nullptr;
  std::shared_ptr<State> made(begun.release(), [thread](State* state) mutable {
    thread.reset();
    base::Fifo<Waiter> failed;
    state->end(failed);
    Engine::tell(failed);
    delete state;
  });
  thread.reset();
  made->make_current();
  return Group(std::move(made));
}

int Group::rank() const noexcept { return state_->rank(); }
int Group::size() const noexcept { return state_->size(); }

bool Group::is_on_this_node(int rank) const { return !state_->peer(rank).is_on_other_node; }

std::string Group::transport(int rank) const {
  const Peer& peer = state_->peer(rank);
  if (peer.is_on_other_node) {
    return state_->fabric()->name();
  }
  return peer.connection != nullptr ? "shared memory" : "this process";
}

// Dissemination: in each round, a rank hears of twice as many. Two barriers in a row use different notifications, since a rank may be ahead of
// another one by one barrier, and never by two.
void Group::barrier() const {
  comm::rma::require_own(state_.get());
  comm::rma::refuse_in_onready("A barrier");
  constexpr std::uint32_t most_rounds = State::notifications_of_barrier / 2;
  const int ranks = size();
  std::uint32_t id = state_->begin_barrier() % 2 * most_rounds;
  for (int distance = 1; distance < ranks; distance *= 2, ++id) {
    const int from = (rank() + ranks - distance) % ranks;
    Peer& to = state_->peer((rank() + distance) % ranks);
    comm::rma::require_there(*state_, to);
    send(*state_, to, State::segment_of_barrier, {.id = id});
    Await await;
    aim(await, *state_, State::segment_of_barrier, id, 1, from);
    wait_for(*state_, await);
  }
}

Segment Segment::allocate(const Group& group, std::size_t bytes, const SegmentOptions& options) {
  return make(group, nullptr, bytes, options);
}

Segment Segment::use(const Group& group, std::span<std::byte> memory, const SegmentOptions& options) {
  return make(group, memory.empty() ? nullptr : memory.data(), memory.size(), options);
}

Segment Segment::make(const Group& group, std::byte* program_memory, std::size_t bytes, const SegmentOptions& options) {
  if (options.notifications > Notification::most_ids) {
    throw std::invalid_argument("A segment has at most 2^24 notifications, not " +
                                std::to_string(options.notifications));
  }
  comm::rma::require_own(group.state_.get());
  const std::uint8_t id = group.state_->add_segment(bytes, options.notifications, program_memory);
  const RemoteSegment& own = group.state_->segment(group.rank(), id);
  return {group.state_, id, own.generation, own.data, bytes, options.notifications};
}

bool Segment::is_ended() const noexcept { return !group_->has_segment(id_, generation_); }

void Segment::end(const std::string& objection) {
  comm::rma::require_own(group_.get());
  comm::rma::refuse_in_onready("The end of a segment");
  require_begun(*this);
  base::Fifo<Waiter> ended;
  std::exception_ptr cause;
  try {
    group_->end_segment(id_, objection, ended);
  } catch (...) {
    cause = std::current_exception();
  }
  Engine::tell(ended);
  if (is_ended()) {
    data_ = nullptr;
    size_ = 0;
    notifications_ = 0;
  }
  if (cause != nullptr) {
    std::rethrow_exception(cause);
  }
}

namespace {

// Within the node.
void write_here(const Remote& to, const Target& target, std::span<const std::byte> data) {
  if (target.segment.reach == Reach::kernel) {
    comm::rma::write_program_memory(program_memory(target, to), data);
  } else if (!data.empty()) {
    std::memcpy(target.segment.data + to.offset, data.data(), data.size());
  }
}

void read_here(const Remote& from, const Target& source, std::span<std::byte> data) {
  if (source.segment.reach == Reach::kernel) {
    comm::rma::read_program_memory(program_memory(source, from), data);
  } else if (!data.empty()) {
    std::memcpy(data.data(), source.segment.data + from.offset, data.size());
  }
}

}  // namespace

void write(std::span<const std::byte> data, const Remote& to) {
  State& in = group();
  const Target target = place_of(in, to, data.size());
  if (target.segment.reach == Reach::fabric) {
    comm::rma::write_to_node(in, to, data, nullptr);
  } else {
    write_here(to, target, data);
  }
}

void read(std::span<std::byte> data, const Remote& from) {
  State& in = group();
  const Target source = place_of(in, from, data.size());
  if (source.segment.reach == Reach::fabric) {
    const Transfer part{.local = data, .remote = from};
    comm::rma::read_from_nodes(in, std::span(&part, 1));
  } else {
    read_here(from, source, data);
  }
}

namespace {

void check_places(std::span<const Transfer> parts) {
  for (const Transfer& part : parts) {
    place_of(group(), part.remote, part.local.size());
  }
}

}  // namespace

void write_list(std::span<const Transfer> parts) {
  check_places(parts);
  for (const Transfer& part : parts) {
    write(part.local, part.remote);
  }
}

// All parts of other nodes are under way at the same time.
void read_list(std::span<const Transfer> parts) {
  State& in = group();
  check_places(parts);
  std::vector<Transfer> of_nodes;
  for (const Transfer& part : parts) {
    const Target source = target_of(in, part.remote.rank, part.remote.segment);
    if (source.segment.reach == Reach::fabric) {
      of_nodes.push_back(part);
    } else {
      read_here(part.remote, source, part.local);
    }
  }
  comm::rma::read_from_nodes(in, of_nodes);
}

void notify(int rank, std::uint8_t segment, const Notify& notification) {
  State& in = group();
  const Target target = target_of(in, rank, segment);
  require_notification(target, segment, notification);
  comm::rma::require_there(in, target.peer);
  send(in, target.peer, segment, notification);
}

void write_notify(std::span<const std::byte> data, const Remote& to, const Notify& notification) {
  State& in = group();
  const Target target = target_of(in, to.rank, to.segment);
  require_notification(target, to.segment, notification);
  comm::rma::require_there(in, target.peer);
  require_bytes(target, to, data.size());
  if (target.segment.reach == Reach::fabric) {
    const Notification both{.segment = to.segment, .id = notification.id, .value = notification.value};
    if (comm::rma::write_to_node(in, to, data, &both)) {
      return;
    }
    comm::rma::require_there(in, target.peer);  // it may have taken long
  } else {
    write_here(to, target, data);
  }
  send(in, target.peer, to.segment, notification, data.size());
}

void write_list_notify(std::span<const Transfer> parts, const Notify& notification) {
  if (parts.empty()) {
    throw std::invalid_argument("a list with a notification has at least one part, which says whom to notify");
  }
  const Remote& last = parts.back().remote;
  for (const Transfer& part : parts) {
    if (part.remote.rank != last.rank) {
      throw std::invalid_argument("a list with a notification has parts for the ranks " + std::to_string(last.rank) +
                                  " and " + std::to_string(part.remote.rank) + "; it is for one");
    }
  }
  State& in = group();
  const Target target = target_of(in, last.rank, last.segment);
  require_notification(target, last.segment, notification);
  write_list(parts);
  comm::rma::require_there(in, target.peer);
  send(in, target.peer, last.segment, notification);
}

void notify_await(const Segment& segment, std::uint32_t id, std::uint32_t* value, int from) {
  notify_awaitall(segment, id, 1, value, from);
}

void notify_awaitall(const Segment& segment, std::uint32_t first, std::uint32_t count, std::uint32_t* values,
                     int from) {
  State& in = group();
  auto await = std::make_unique<Await>();
  aim(*await, in, segment, first, count, from);
  Task* const task = tasking::task_that_binds();
  if (task == nullptr) {
    throw std::logic_error("dovetail::rma::notify_await would be bound to a task, but was called outside of one");
  }
  comm::rma::take_what_has_come(in);
  await->values = values;
  comm::rma::bind_to_task(task, std::move(await), [&](Await& entered) { return in.await(entered); });
}

std::uint32_t notify_wait(const Segment& segment, std::uint32_t id, int from) {
  State& in = group();
  std::uint32_t value = 0;
  Await await;
  aim(await, in, segment, id, 1, from);
  await.values = &value;
  wait_for(in, await);
  return value;
}

Notified notify_wait_any(const Segment& segment, std::uint32_t first, std::uint32_t count, int from) {
  State& in = group();
  Await await;
  aim(await, in, segment, first, count, from);
  await.for_any = true;
  wait_for(in, await);
  return {await.found, await.found_value};
}

std::optional<std::uint32_t> notify_test(const Segment& segment, std::uint32_t id) {
  State& in = group();
  require_begun(segment);
  require_notification(target_of(in, in.rank(), segment.id()), segment.id(), id);
  comm::rma::look_for_ends(in);
  comm::rma::take_what_has_come(in);
  return in.take(segment.id(), id);
}

namespace {

// The owner of memory on another node changes it there, by its own atomic operation. So all operations on a number are of the same kind.
template <class Change>
std::uint64_t change(const Remote& at, const Message& request, const Change& change_here) {
  if (at.offset % sizeof(std::uint64_t) != 0) {
    throw std::invalid_argument("an atomic operation at byte " + std::to_string(at.offset) + " of segment " +
                                std::to_string(at.segment) + ": the offset is a multiple of 8");
  }
  const RemoteSegment& found = place_of(group(), at, sizeof(std::uint64_t)).segment;
  if (found.is_of_program) {
    throw std::invalid_argument("an atomic operation in segment " + std::to_string(at.segment) + " of rank " +
                                std::to_string(at.rank) +
                                ", which is memory of the program's own: the kernel has none between processes. "
                                "rma::Segment::allocate makes memory that has them");
  }
  if (found.reach == Reach::fabric) {
    return comm::rma::change_at_node(group(), at, request);
  }
  return change_here(std::atomic_ref(*reinterpret_cast<std::uint64_t*>(found.data + at.offset)));
}

}  // namespace

std::uint64_t fetch_add(const Remote& at, std::uint64_t added) {
  return change(at, {.kind = Message::Kind::fetch_add, .second = added},
                [&](const auto number) { return number.fetch_add(added); });
}

std::uint64_t compare_swap(const Remote& at, std::uint64_t expected, std::uint64_t wanted) {
  return change(at, {.kind = Message::Kind::compare_swap, .second = expected, .third = wanted}, [&](const auto number) {
    std::uint64_t before = expected;
    number.compare_exchange_strong(before, wanted);
    return before;
  });
}

}  // namespace dovetail::rma
