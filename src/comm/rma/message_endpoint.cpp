#include "comm/rma/message_endpoint.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <stdexcept>

#include "base/clock.hpp"
#include "base/process_mutex.hpp"

namespace dovetail::comm::rma {
namespace {

constexpr unsigned most_found = 64;  // in one poll
constexpr std::uint64_t taken_between_answers = MessageEndpoint::window / 4;
constexpr std::chrono::seconds longest_end{1};
constexpr const char* mpi_has_ended = "MPI has been finalised";

// What MPI has, and no endpoint waits for any more. Under the lock of `living`.
std::vector<Moving>& left_behind() {
  static auto* const made = new std::vector<Moving>;
  return *made;
}
base::ProcessMutex& living() {
  static auto* const made = new base::ProcessMutex;
  return *made;
}
constinit MessageEndpoint* the_endpoint = nullptr;  // under that lock
constinit MessageLibrary* the_library = nullptr;    // the same; null: `at_end` has not been asked for

// Takes what has come from others, so that their messages end, too.
void take_strangers(MessageLibrary& library, std::vector<Moving>& moving) {
  MessageLibrary::Found found;
  while (library.find(found) == MessageLibrary::State::ended) {
    Frames unkept;
    moving.emplace_back();
    moving.back().buffer = unkept.take(found.bytes);
    if (!library.receive(found, moving.back().buffer.used(), moving.back().request)) {
      moving.pop_back();
    }
  }
}

void forget_ended(MessageLibrary& library, std::vector<Moving>& moving) {
  std::erase_if(moving, [&](Moving& each) { return library.test(each.request) != MessageLibrary::State::under_way; });
}

}  // namespace

class MessageEndpoint::Registered final : public Registration {
 public:
  Registered(MessageEndpoint& endpoint, RemoteMemory memory) : endpoint_(endpoint), memory_(memory) {}
  ~Registered() override {
    const base::LockGuard lock(endpoint_.mutex_);
    endpoint_.memory_.erase(memory_.key);
  }
  RemoteMemory memory() const noexcept override { return memory_; }
  void* descriptor() const noexcept override { return nullptr; }

 private:
  MessageEndpoint& endpoint_;
  const RemoteMemory memory_;
};

MessageEndpoint::MessageEndpoint(MessageLibrary& library, int rank, int size, int tag)
    : library_(library),
      name_(name_of_message_library(library.version())),
      rank_(rank),
      tag_(tag),
      peers_(static_cast<std::size_t>(size)) {
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    peers_[i].rank = static_cast<int>(i);
  }
  const base::LockGuard lock(living());
  if (the_library != &library) {
    library.at_end(mpi_ends);
    the_library = &library;
  }
  forget_ended(library, left_behind());
  the_endpoint = this;
}

MessageEndpoint::~MessageEndpoint() {
  const base::LockGuard lock(living());
  const base::LockGuard own(mutex_);
  if (the_endpoint == this) {
    the_endpoint = nullptr;
  }
  std::vector<Moving> unfinished = release();  // nothing after the end of MPI, which has released all
  forget_ended(library_, unfinished);
  std::ranges::move(unfinished, std::back_inserter(left_behind()));
}

std::vector<Moving> MessageEndpoint::release() noexcept {
  std::vector<Moving> all = std::move(strangers_);
  for (Peer& each : peers_) {
    std::ranges::move(each.leaving, std::back_inserter(all));
    std::ranges::move(each.arriving, std::back_inserter(all));
    each.leaving.clear();
    each.arriving.clear();
  }
  return all;
}

void MessageEndpoint::mpi_ends() noexcept {
  const base::LockGuard lock(living());
  if (the_endpoint != nullptr) {
    the_endpoint->end_messages();
  }
  const base::TimePoint end = base::Clock::now() + longest_end;
  do {
    take_strangers(*the_library, left_behind());
    forget_ended(*the_library, left_behind());
  } while (!left_behind().empty() && base::Clock::now() < end);
  the_library = nullptr;
}

// The others hear that this rank has ended its group, as they do by the goodbye of one that ends it. What was not sent by now fails.
void MessageEndpoint::end_messages() noexcept {
  const base::LockGuard lock(mutex_);
  Message goodbye{.kind = Message::Kind::goodbye};
  goodbye.rank = rank_;
  for (Peer& each : peers_) {
    if (each.is_known && !each.has_failed) {
      send(each, {.kind = Frame::Kind::message}, std::as_bytes(std::span(&goodbye, 1)));
    }
    for (const Job& job : each.jobs) {
      if (job.operation != nullptr && job.kind != Frame::Kind::read) {
        give_back(*job.operation, mpi_has_ended);
      }
    }
    each.jobs.clear();
  }
  for (const auto& [id, read] : reads_) {
    give_back(*read.operation, mpi_has_ended);
  }
  reads_.clear();
  has_mpi_ended_ = true;
  std::ranges::move(release(), std::back_inserter(left_behind()));
}

std::vector<std::byte> MessageEndpoint::address() const {
  std::vector<std::byte> bytes(sizeof tag_);
  std::memcpy(bytes.data(), &tag_, sizeof tag_);
  return bytes;
}

void MessageEndpoint::add_peer(int rank, std::span<const std::byte> address) {
  if (!std::ranges::equal(address, this->address())) {
    throw std::runtime_error("Rank " + std::to_string(rank) + " has begun another group by " + name_);
  }
  const base::LockGuard lock(mutex_);
  peers_[static_cast<std::size_t>(rank)].is_known = true;
}

std::unique_ptr<Registration> MessageEndpoint::register_memory(std::span<std::byte> memory) {
  const base::LockGuard lock(mutex_);
  const RemoteMemory named{.address = reinterpret_cast<std::uintptr_t>(memory.data()), .key = next_key_++};
  memory_.emplace(named.key, memory);
  return std::make_unique<Registered>(*this, named);
}

std::byte* MessageEndpoint::memory_at(RemoteMemory memory, std::uint64_t bytes) const {
  const auto found = memory_.find(memory.key);
  if (found == memory_.end()) {
    return nullptr;
  }
  const std::span<std::byte> all = found->second;
  const std::uint64_t offset = memory.address - reinterpret_cast<std::uintptr_t>(all.data());
  return offset <= all.size() && bytes <= all.size() - offset ? all.data() + offset : nullptr;
}

void MessageEndpoint::touch(Peer& peer) {
  if (!peer.is_active) {
    peer.is_active = true;
    active_.push_back(peer.rank);
  }
}

FabricEndpoint::Posted MessageEndpoint::post(Operation& operation) {
  const base::LockGuard lock(mutex_);
  Peer& to = peers_[static_cast<std::size_t>(operation.rank)];
  if (has_mpi_ended_ || to.has_failed) {
    failure_ = has_mpi_ended_ ? mpi_has_ended : "a message could not be sent";
    return Posted::never;
  }
  Job job{.operation = &operation, .memory = operation.remote, .bytes = operation.bytes};
  if (operation.kind == Operation::Kind::message) {
    job.kind = Frame::Kind::message;
  } else if (operation.kind == Operation::Kind::read) {
    job.kind = Frame::Kind::read;
    job.id = next_read_++;
    reads_.emplace(job.id, Read{&operation, operation.bytes});
  }
  to.jobs.push_back(job);
  touch(to);
  send_jobs(to);
  return Posted::yes;
}

void MessageEndpoint::give_back(Operation& operation, const std::string& failure) {
  events_.push_back({.kind = Event::Kind::ended, .operation = &operation, .failure = failure});
}

// Its calls end with the rank, whose end is told next.
void MessageEndpoint::fail(Peer& peer, const std::string& why) {
  if (!peer.has_failed) {
    peer.has_failed = true;
    events_.push_back({.kind = Event::Kind::failed, .rank = peer.rank, .failure = why});
  }
}

bool MessageEndpoint::send(Peer& to, Frame frame, std::span<const std::byte> payload) {
  frame.taken = to.taken;
  Moving moving{.request = {}, .buffer = frames_.take(sizeof frame + payload.size())};
  std::memcpy(moving.buffer.bytes.get(), &frame, sizeof frame);
  std::ranges::copy(payload, moving.buffer.payload().begin());
  if (!library_.send(moving.buffer.used(), to.rank, tag_, moving.request)) {
    fail(to, library_.failure());
    frames_.give_back(std::move(moving.buffer));
    return false;
  }
  to.told = to.taken;
  to.leaving.push_back(std::move(moving));
  touch(to);
  return true;
}

bool MessageEndpoint::send_part(Peer& to, Job& job) {
  Frame frame{.kind = job.kind, .address = job.memory.address, .key = job.memory.key, .id = job.id};
  if (job.kind == Frame::Kind::read) {
    frame.bytes = job.bytes;
    job.done = job.bytes;
    return send(to, frame, {});
  }
  const std::uint64_t size = std::min<std::uint64_t>(job.bytes - job.done, Frames::most_payload);
  const std::byte* from = nullptr;
  if (job.kind == Frame::Kind::part) {
    frame.address = job.done;
    from = memory_at({.address = job.memory.address + job.done, .key = job.memory.key}, size);
    if (from == nullptr) {
      fail(to, "it reads memory that is in no segment");
      return false;
    }
  } else {
    frame.address += job.done;
    from = job.operation->local + job.done;
    frame.has_data = job.operation->kind == Operation::Kind::write_with_data && job.done + size == job.bytes;
    frame.data = job.operation->data;
  }
  job.done += size;
  return send(to, frame, {from, size});
}

// A write has ended when its data has been copied.
void MessageEndpoint::send_jobs(Peer& to) {
  while (!to.jobs.empty() && !to.has_failed && to.sent - to.taken_there < window) {
    Job& next = to.jobs.front();
    if (!send_part(to, next)) {
      return;
    }
    ++to.sent;
    if (next.done == next.bytes) {
      if (next.operation != nullptr && next.kind != Frame::Kind::read) {
        give_back(*next.operation, "");
      }
      to.jobs.pop_front();
    }
  }
}

void MessageEndpoint::forget(int rank, FabricEvents& events) noexcept {
  std::vector<Operation*> given_back;
  {
    const base::LockGuard lock(mutex_);
    Peer& gone = peers_[static_cast<std::size_t>(rank)];
    for (const Job& job : gone.jobs) {
      if (job.operation != nullptr && job.kind != Frame::Kind::read) {
        given_back.push_back(job.operation);
      }
    }
    gone.jobs.clear();
    gone.is_known = false;
    std::erase_if(reads_, [&](const auto& each) {
      const bool is_of_rank = each.second.operation->rank == rank;
      if (is_of_rank) {
        given_back.push_back(each.second.operation);
      }
      return is_of_rank;
    });
  }
  for (Operation* const each : given_back) {
    events.operation_ended(*each, "");
  }
}

void MessageEndpoint::take_write(Peer& from, const Frame& frame, std::span<const std::byte> payload) {
  std::byte* const place = memory_at({.address = frame.address, .key = frame.key}, payload.size());
  if (place == nullptr) {
    fail(from, "it writes into memory that is in no segment");
    return;
  }
  std::memcpy(place, payload.data(), payload.size());
  if (frame.has_data) {
    events_.push_back({.kind = Event::Kind::data, .data = frame.data});
  }
}

void MessageEndpoint::take_part(Peer& from, const Frame& frame, std::span<const std::byte> payload) {
  const auto found = reads_.find(frame.id);
  if (found == reads_.end()) {
    return;  // its call has failed
  }
  Operation& operation = *found->second.operation;
  if (operation.rank != from.rank || payload.size() > found->second.left || frame.address > operation.bytes ||
      payload.size() > operation.bytes - frame.address) {
    fail(from, "it answers what it was not asked");
    return;
  }
  std::memcpy(operation.local + frame.address, payload.data(), payload.size());
  found->second.left -= payload.size();
  if (found->second.left == 0) {
    reads_.erase(found);
    give_back(operation, "");
  }
}

void MessageEndpoint::take(Peer& from, const Frames::Buffer& message) {
  Frame frame;
  if (message.size < sizeof frame) {
    fail(from, "it sends what is no part of the protocol");
    return;
  }
  std::memcpy(&frame, message.bytes.get(), sizeof frame);
  from.taken_there = std::max(from.taken_there, std::min(frame.taken, from.sent));
  from.taken += frame.kind != Frame::Kind::taken ? 1 : 0;
  const std::span<const std::byte> payload = message.payload();
  was_last_large_ = payload.size() >= Frames::most_payload / 2;
  switch (frame.kind) {
    case Frame::Kind::message:
      if (payload.size() == sizeof(Message)) {
        Event told{.kind = Event::Kind::message};
        std::memcpy(&told.message, payload.data(), sizeof told.message);
        events_.push_back(told);
      }
      break;
    case Frame::Kind::write:
      take_write(from, frame, payload);
      break;
    case Frame::Kind::read:
      from.jobs.push_back({.kind = Frame::Kind::part,
                           .memory = {.address = frame.address, .key = frame.key},
                           .bytes = frame.bytes,
                           .id = frame.id});
      break;
    case Frame::Kind::part:
      take_part(from, frame, payload);
      break;
    case Frame::Kind::taken:
      break;
  }
}

void MessageEndpoint::find_messages() {
  MessageLibrary::Found found;
  for (unsigned i = 0; i < most_found; ++i) {
    const MessageLibrary::State state = library_.find(found);
    if (state == MessageLibrary::State::failed) {
      events_.push_back({.kind = Event::Kind::failed, .rank = rank_, .failure = library_.failure()});
    }
    if (state != MessageLibrary::State::ended) {
      return;
    }
    Peer& from = peers_[static_cast<std::size_t>(found.rank)];
    Moving moving{.request = {}, .buffer = frames_.take(found.bytes)};
    if (!library_.receive(found, moving.buffer.used(), moving.request)) {
      fail(from, library_.failure());
    } else if (found.tag != tag_) {
      strangers_.push_back(std::move(moving));
    } else {
      from.arriving.push_back(std::move(moving));
      touch(from);
    }
  }
}

// @returns Whether anything of it is left.
bool MessageEndpoint::move(Peer& peer) {
  while (!peer.arriving.empty()) {
    Moving& first = peer.arriving.front();
    const MessageLibrary::State state = library_.test(first.request);
    if (state == MessageLibrary::State::under_way) {
      break;
    }
    if (state == MessageLibrary::State::failed) {
      fail(peer, library_.failure());
    } else if (!peer.has_failed) {
      take(peer, first.buffer);
    }
    frames_.give_back(std::move(first.buffer));
    peer.arriving.pop_front();
  }
  while (!peer.leaving.empty()) {
    Moving& first = peer.leaving.front();
    const MessageLibrary::State state = library_.test(first.request);
    if (state == MessageLibrary::State::under_way) {
      break;
    }
    if (state == MessageLibrary::State::failed) {
      fail(peer, library_.failure());
    }
    frames_.give_back(std::move(first.buffer));
    peer.leaving.pop_front();
  }
  send_jobs(peer);
  if (peer.taken - peer.told >= taken_between_answers && peer.is_known && !peer.has_failed) {
    send(peer, {.kind = Frame::Kind::taken}, {});
  }
  return !peer.jobs.empty() || !peer.leaving.empty() || !peer.arriving.empty();
}

// What is told makes the fabric post: so it is told without the lock.
unsigned MessageEndpoint::poll(FabricEvents& events) noexcept {
  bool is_broken = false;
  {
    const base::LockGuard lock(mutex_);
    if (has_mpi_ended_) {
      is_broken = !std::exchange(is_end_told_, true);
    } else {
      find_messages();
      for (std::size_t i = 0; i < active_.size();) {
        Peer& peer = peers_[static_cast<std::size_t>(active_[i])];
        peer.is_active = move(peer);
        if (peer.is_active) {
          ++i;
        } else {
          active_[i] = active_.back();
          active_.pop_back();
        }
      }
      forget_ended(library_, strangers_);
    }
    std::swap(told_, events_);
  }
  for (const Event& each : told_) {
    switch (each.kind) {
      case Event::Kind::ended:
        events.operation_ended(*each.operation, each.failure);
        break;
      case Event::Kind::data:
        events.data_arrived(each.data);
        break;
      case Event::Kind::message:
        events.message_arrived(each.message);
        break;
      case Event::Kind::failed:
        each.rank == rank_ ? events.broke(each.failure) : events.rank_failed(each.rank, each.failure);
        break;
    }
  }
  if (is_broken) {
    events.broke(mpi_has_ended);
  }
  const auto count = static_cast<unsigned>(told_.size());
  told_.clear();
  return count;
}

}  // namespace dovetail::comm::rma
