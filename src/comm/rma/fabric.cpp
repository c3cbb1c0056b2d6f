#include "comm/rma/fabric.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstring>
#include <iterator>
#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "comm/rma/checked.hpp"
#include "dovetail/rma_error.hpp"

namespace dovetail::comm::rma {
namespace {

constexpr unsigned most_polls = 64;  // with 64 completions each: as many as a ring has places
constexpr std::size_t most_kept_of_copy = std::size_t{64} << 10;

// The 8 bytes that a write can carry: a notification and its sender, where both are small. What is larger follows as a message.
constexpr int most_ranks_in_data = 1 << 16;
constexpr std::uint32_t most_value_in_data = (1U << 16) - 1;
std::optional<std::uint64_t> pack_with_rank(int rank, const Notification& notification) noexcept {
  if (rank >= most_ranks_in_data || notification.value > most_value_in_data) {
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(rank) << 48 | notification.packed();
}

int make_bell() { return checked(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd"); }

}  // namespace

Fabric::Fabric(std::unique_ptr<FabricEndpoint> endpoint, FabricArrivals& arrivals, int rank, int size)
    : arrivals_(arrivals),
      rank_(rank),
      name_(endpoint->name()),
      bell_(make_bell()),
      endpoint_(std::move(endpoint)),
      lanes_(static_cast<std::size_t>(size)) {}

Fabric::~Fabric() {
  const base::LockGuard lock(lock_);
  for (const auto& operation : all_) {
    operation->registration.reset();  // before its domain
  }
  endpoint_.reset();
}

std::vector<std::byte> Fabric::address() const {
  const base::LockGuard lock(lock_);
  return endpoint_->address();
}

void Fabric::add_peer(int rank, std::span<const std::byte> address) {
  const base::LockGuard lock(lock_);
  endpoint_->add_peer(rank, address);
}

void Fabric::while_nothing_arrives(const std::function<void()>& action) {
  const base::LockGuard lock(lock_);
  action();
}

std::unique_ptr<Registration> Fabric::register_memory(std::span<std::byte> memory) {
  const base::LockGuard lock(lock_);
  return endpoint_->register_memory(memory);
}

Operation& Fabric::make(Operation::Kind kind, int rank, RemoteCall* call) {
  Operation* made = free_.pop();
  if (made == nullptr) {
    all_.push_back(std::make_unique<Operation>());
    made = all_.back().get();
  }
  made->kind = kind;
  made->rank = rank;
  made->call = call;
  if (call != nullptr) {
    ++call->left;
  }
  return *made;
}

void Fabric::recycle(Operation& operation) noexcept {
  operation.registration.reset();
  if (operation.copy.capacity() > most_kept_of_copy) {
    operation.copy = {};
  }
  operation.call = nullptr;
  operation.has_failed = false;
  free_.push(operation);
}

void Fabric::link(Lane& lane, Operation& operation) noexcept {
  operation.before = nullptr;
  operation.after = lane.first;
  if (lane.first != nullptr) {
    lane.first->before = &operation;
  }
  lane.first = &operation;
}

void Fabric::unlink(Lane& lane, Operation& operation) noexcept {
  (operation.before != nullptr ? operation.before->after : lane.first) = operation.after;
  if (operation.after != nullptr) {
    operation.after->before = operation.before;
  }
}

void Fabric::drop(RemoteCall& call) noexcept {
  if (--call.left == 0) {
    ended_.push(call);
  }
}

void Fabric::fail(RemoteCall& call, const std::string& why) noexcept {
  if (!call.cause) {
    call.cause = std::make_exception_ptr(dovetail::rma::Error(call.text() + " failed: " + why, call.rank));
  }
  drop(call);
}

bool Fabric::is_ended_by_caller(RemoteCall& call, const std::exception_ptr& cause) noexcept {
  const base::LockGuard lock(lock_);
  if (cause != nullptr && !call.cause) {
    call.cause = cause;
  }
  return --call.left == 0;
}

bool Fabric::abandon(RemoteCall& call) noexcept {
  const base::LockGuard lock(lock_);
  if (call.left == 0) {
    return false;
  }
  for (const Lane& lane : lanes_) {
    for (Operation* each = lane.first; each != nullptr; each = each->after) {
      each->call = each->call == &call ? nullptr : each->call;
    }
    for (Operation* each = lane.later.front(); each != nullptr; each = each->next) {
      each->call = each->call == &call ? nullptr : each->call;
    }
  }
  std::erase_if(answers_, [&call](const auto& expected) { return expected.second.call == &call; });
  return true;
}

// Where the fabric promises no order, only writes may overtake: all else waits until what is under way has arrived.
FabricEndpoint::Posted Fabric::try_post(Lane& lane, Operation& operation) noexcept {
  if (!endpoint_->is_ordered() && operation.kind != Operation::Kind::write && lane.under_way > 0) {
    return FabricEndpoint::Posted::later;
  }
  FabricEndpoint::Posted posted = FabricEndpoint::Posted::never;
  std::string failure;
  try {
    posted = endpoint_->post(operation);
    failure = endpoint_->failure();
  } catch (const std::exception& error) {
    failure = error.what();
  }
  if (posted != FabricEndpoint::Posted::later) {
    link(lane, operation);
    ++lane.under_way;
    ++under_way_;
    // The thread may sleep for long, also where no descriptor would wake it.
    if (std::exchange(sleeps_until_woken_, false) || pause_ > shortest_pause) {
      pause_ = {};
      wake();
    }
  }
  if (posted == FabricEndpoint::Posted::never) {
    operation_ended(operation, failure);
  }
  return posted;
}

void Fabric::post(Operation& operation) {
  Lane& lane = lanes_[static_cast<std::size_t>(operation.rank)];
  if (!lane.why_ended.empty()) {
    if (operation.call != nullptr) {
      fail(*operation.call, lane.why_ended);
    }
    recycle(operation);
  } else if (!lane.later.empty() || try_post(lane, operation) == FabricEndpoint::Posted::later) {
    lane.later.push(operation);
    if (later_++ == 0) {
      wake();
    }
  }
}

void Fabric::post_later_ones() noexcept {
  for (std::size_t rank = 0; rank < lanes_.size() && later_ > 0; ++rank) {
    Lane& lane = lanes_[rank];
    while (!lane.later.empty()) {
      Operation& next = *lane.later.pop();
      // An operation that ends at once is reused, and so is its `next`.
      if (try_post(lane, next) == FabricEndpoint::Posted::later) {
        base::Fifo<Operation> others;
        std::swap(others, lane.later);
        lane.later.push(next);
        while (Operation* const other = others.pop()) {
          lane.later.push(*other);
        }
        break;
      }
      --later_;
    }
  }
}

void Fabric::post_write(int rank, RemoteMemory to, std::span<const std::byte> data, const std::uint64_t* with,
                        RemoteCall* call) {
  Operation& operation = make(with != nullptr ? Operation::Kind::write_with_data : Operation::Kind::write, rank, call);
  operation.remote = to;
  operation.data = with != nullptr ? *with : 0;
  operation.bytes = data.size();
  if (call == nullptr) {
    operation.copy.assign(data.begin(), data.end());
    operation.local = operation.copy.data();
  } else {
    operation.local = const_cast<std::byte*>(data.data());
  }
  post(operation);
}

void Fabric::write(int rank, RemoteMemory to, std::span<const std::byte> data, const Notification* notification,
                   RemoteCall* call) {
  const base::LockGuard lock(lock_);
  std::optional<std::uint64_t> with;
  if (notification != nullptr && !data.empty() && endpoint_->carries_data()) {
    with = pack_with_rank(rank_, *notification);
  }
  if (!data.empty()) {
    post_write(rank, to, data, with ? &*with : nullptr, call);
  }
  if (notification != nullptr && !with) {
    send(rank, {.kind = Message::Kind::notification, .first = notification->packed()});
  }
}

void Fabric::read(int rank, RemoteMemory from, std::span<std::byte> data, RemoteCall& call) {
  const base::LockGuard lock(lock_);
  Operation& operation = make(Operation::Kind::read, rank, nullptr);
  // Into memory of the operation's own: a call that has failed leaves its buffer, and the provider may not.
  try {
    operation.copy.resize(data.size());
  } catch (...) {
    recycle(operation);
    throw;
  }
  operation.call = &call;
  ++call.left;
  operation.local = operation.copy.data();
  operation.bytes = data.size();
  operation.wanted = data.data();
  operation.remote = from;
  post(operation);
}

void Fabric::send(int rank, const Message& message) {
  Operation& operation = make(Operation::Kind::message, rank, nullptr);
  operation.message = message;
  operation.message.rank = rank_;
  operation.local = reinterpret_cast<std::byte*>(&operation.message);
  operation.bytes = sizeof operation.message;
  post(operation);
}

void Fabric::notify(int rank, Notification notification) {
  const base::LockGuard lock(lock_);
  send(rank, {.kind = Message::Kind::notification, .first = notification.packed()});
}

void Fabric::say_taken(int rank, std::uint64_t count) {
  const base::LockGuard lock(lock_);
  send(rank, {.kind = Message::Kind::taken, .first = count});
}

void Fabric::change(int rank, Message request, std::uint64_t& before, RemoteCall& call) {
  const base::LockGuard lock(lock_);
  if (const std::string& why = lanes_[static_cast<std::size_t>(rank)].why_ended; !why.empty()) {
    ++call.left;
    fail(call, why);
    return;
  }
  request.id = next_answer_++;
  const auto expected = answers_.emplace(request.id, Answer{rank, &before, &call}).first;
  try {
    send(rank, request);
  } catch (...) {
    answers_.erase(expected);
    throw;
  }
  ++call.left;
}

bool Fabric::is_crowded(int rank) noexcept {
  const base::LockGuard lock(lock_);
  const Lane& lane = lanes_[static_cast<std::size_t>(rank)];
  return lane.under_way + lane.later.size() >= most_under_way;
}

void Fabric::say_goodbye(int rank) {
  const base::LockGuard lock(lock_);
  send(rank, {.kind = Message::Kind::goodbye});
}

// A read needs no call that waits for it any more.
bool Fabric::leave(int rank, std::uint8_t segment, RemoteMemory memory) {
  const base::LockGuard lock(lock_);
  const Lane& lane = lanes_[static_cast<std::size_t>(rank)];
  const auto reads = [&](const Operation& each) {
    return each.kind == Operation::Kind::read && each.remote.key == memory.key;
  };
  for (const Operation* each = lane.first; each != nullptr; each = each->after) {
    if (reads(*each)) {
      return false;
    }
  }
  for (const Operation* each = lane.later.front(); each != nullptr; each = each->next) {
    if (reads(*each)) {
      return false;
    }
  }
  send(rank, {.kind = Message::Kind::left, .segment = segment});
  return true;
}

bool Fabric::has_parted(int rank) noexcept {
  const base::LockGuard lock(lock_);
  const Lane& lane = lanes_[static_cast<std::size_t>(rank)];
  return lane.has_parted || !lane.why_ended.empty();
}

void Fabric::rank_ended(int rank, const std::function<std::string()>& note_end, base::Fifo<Waiter>& ended) {
  const base::LockGuard lock(lock_);
  Lane& lane = lanes_[static_cast<std::size_t>(rank)];
  const std::string why = note_end();
  lane.why_ended = why;
  // Those under way stay the provider's until it gives them back.
  for (Operation* next = lane.first; next != nullptr;) {
    Operation& each = *std::exchange(next, next->after);
    if (RemoteCall* const call = std::exchange(each.call, nullptr)) {
      fail(*call, why);
    }
    if (each.has_failed) {
      remove(lane, each);
    }
  }
  while (Operation* const each = lane.later.pop()) {
    --later_;
    if (each->call != nullptr) {
      fail(*each->call, why);
    }
    recycle(*each);
  }
  for (auto expected = answers_.begin(); expected != answers_.end();) {
    const bool is_of_rank = expected->second.rank == rank;
    if (is_of_rank) {
      fail(*expected->second.call, why);
    }
    expected = is_of_rank ? answers_.erase(expected) : std::next(expected);
  }
  endpoint_->forget(rank, *this);
  move_all(ended);
}

void Fabric::operation_ended(Operation& ended, const std::string& failure) noexcept {
  Lane& lane = lanes_[static_cast<std::size_t>(ended.rank)];
  if (!failure.empty() && lane.why_ended.empty()) {
    ended.has_failed = true;
    arrivals_.lost(ended.rank, name_ + ": " + failure);
    return;
  }
  if (RemoteCall* const call = ended.call; call != nullptr && failure.empty()) {
    if (ended.kind == Operation::Kind::read) {
      std::memcpy(ended.wanted, ended.local, ended.bytes);
    }
    drop(*call);
  }
  remove(lane, ended);
}

void Fabric::remove(Lane& lane, Operation& operation) noexcept {
  unlink(lane, operation);
  --lane.under_way;
  --under_way_;
  recycle(operation);
}

void Fabric::move_all(base::Fifo<Waiter>& ended) noexcept {
  while (Waiter* const each = ended_.pop()) {
    ended.push(*each);
  }
}

void Fabric::drain(base::Fifo<Waiter>& ended) noexcept {
  const base::LockGuard lock(lock_);
  for (unsigned polls = 0; polls < most_polls && endpoint_->poll(*this) > 0; ++polls) {
    pause_ = {};
    moved_at_ = base::Clock::now();
  }
  post_later_ones();
  move_all(ended);
}

void Fabric::progress(base::Fifo<Waiter>& ended) noexcept {
  if (!is_progressed_elsewhere_.load(std::memory_order_relaxed)) {
    is_progressed_elsewhere_.store(true, std::memory_order_relaxed);
  }
  if (lock_.try_lock()) {
    const base::LockGuard lock(lock_, std::adopt_lock);
    endpoint_->poll(*this);
    post_later_ones();
    move_all(ended);
  }
}

void Fabric::for_each_wait(const std::function<void(const Waiter&)>& visit) {
  const base::LockGuard lock(lock_);
  for (const Lane& lane : lanes_) {
    for (const Operation* each = lane.first; each != nullptr; each = each->after) {
      if (each->call != nullptr) {
        visit(*each->call);
      }
    }
    for (const Operation* each = lane.later.front(); each != nullptr; each = each->next) {
      if (each->call != nullptr) {
        visit(*each->call);
      }
    }
  }
  for (const auto& [id, expected] : answers_) {
    visit(*expected.call);
  }
}

}  // namespace dovetail::comm::rma
