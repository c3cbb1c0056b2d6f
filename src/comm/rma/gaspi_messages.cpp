#include "comm/rma/gaspi_messages.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>

namespace dovetail::comm::rma {
namespace {

// At the beginning of each message in a ring, which takes whole units.
struct MessageHead {
  std::uint64_t bytes = 0;  // `skips`: nothing follows up to the end of the ring
  std::int64_t tag = 0;
};
constexpr std::uint64_t skips = ~std::uint64_t{0};
constexpr std::size_t unit_of_ring = 64;
constexpr std::size_t bytes_of_a_card = 256;
constexpr Gaspi::Number requests_of_a_write = 2;  // its data, and its notification
constexpr Gaspi::Number words_of_a_rank = 4;      // how far it has written, and taken; its cards in turn
constexpr Gaspi::Timeout longest_call = 1000;

// A place in a ring as the value of a notification, which is never 0.
constexpr Gaspi::Notification is_word = 1U << 31;
Gaspi::Notification word_of(std::uint64_t place) noexcept {
  return static_cast<Gaspi::Notification>(place / unit_of_ring) | is_word;
}
// How far a place lies behind another one, where that is less than a ring.
std::uint64_t behind(std::uint64_t place, Gaspi::Notification word) noexcept {
  return std::uint64_t{(word - word_of(place)) & (is_word - 1)} * unit_of_ring;
}

constexpr std::size_t in_units(std::size_t bytes) noexcept {
  return (bytes + unit_of_ring - 1) / unit_of_ring * unit_of_ring;
}

constexpr unsigned bits_of_number = 48;
void set_handle(MessageLibrary::RequestHandle& request, std::size_t rank, std::uint64_t number) noexcept {
  const std::uint64_t handle = static_cast<std::uint64_t>(rank) << bits_of_number | number;
  std::memcpy(request.handle.data(), &handle, sizeof handle);
}

}  // namespace

GaspiMessages::GaspiMessages(const Gaspi& gaspi) : gaspi_(gaspi) {
  Gaspi::Rank rank = 0;
  Gaspi::Rank size = 0;
  gaspi_.proc_rank(&rank);
  gaspi_.proc_num(&size);
  rank_ = rank;
  size_ = size;
  ring_ = std::clamp(std::bit_floor(most_of_rings / std::max(size_, std::size_t{1})), smallest_ring, largest_ring);
  peers_.resize(size_);
}

std::string GaspiMessages::why_not(int rank, int size) const {
  Gaspi::Number is_there = 0;
  if (gaspi_.initialized(&is_there) != Gaspi::success || is_there == 0) {
    return "the program has called gaspi_proc_term";
  }
  if (static_cast<std::size_t>(rank) != rank_ || static_cast<std::size_t>(size) != size_) {
    return "this process is rank " + std::to_string(rank) + " of " + std::to_string(size) + ", and of GASPI rank " +
           std::to_string(rank_) + " of " + std::to_string(size_);
  }
  Gaspi::Number notifications = 0;
  gaspi_.notification_num(&notifications);
  if (notifications / words_of_a_rank < size_) {
    return "its segments have " + std::to_string(notifications) + " notifications, and " + std::to_string(size_) +
           " ranks need " + std::to_string(words_of_a_rank) + " each";
  }
  return {};
}

bool GaspiMessages::fail(const char* call, Gaspi::Return result) {
  failure_ = std::string(call) + " has failed (" + std::to_string(result) + ")";
  return false;
}

// First the cards: two of each rank, in the order of exchanges, and those of this rank behind them. Then the rings to others, and those from them.
std::size_t GaspiMessages::card(std::size_t rank) const noexcept {
  return (exchanges_ % 2 * (size_ + 1) + rank) * bytes_of_a_card;
}
std::size_t GaspiMessages::out_ring(std::size_t rank) const noexcept {
  return 2 * (size_ + 1) * bytes_of_a_card + rank * ring_;
}
std::size_t GaspiMessages::in_ring(std::size_t rank) const noexcept { return out_ring(size_ + rank); }

bool GaspiMessages::allocate() {
  if (memory_ != nullptr) {
    return true;
  }
  Gaspi::Number segments = 0;
  Gaspi::Number queues = 0;
  gaspi_.segment_max(&segments);
  gaspi_.queue_size_max(&most_in_queue_);
  gaspi_.queue_num(&queues);
  segment_ = static_cast<Gaspi::Segment>(segments - 1);
  Gaspi::Return result = gaspi_.segment_alloc(segment_, out_ring(2 * size_), Gaspi::default_memory);
  if (result != Gaspi::success) {
    fail("gaspi_segment_alloc", result);
    failure_ += ": segment " + std::to_string(segment_) + " must be left to Dovetail";
    return false;
  }
  if (gaspi_.queue_create(&queue_, longest_call) != Gaspi::success) {
    queue_ = static_cast<Gaspi::Queue>(queues - 1);
  }
  void* memory = nullptr;
  result = gaspi_.segment_ptr(segment_, &memory);
  memory_ = static_cast<std::byte*>(memory);
  return result == Gaspi::success || fail("gaspi_segment_ptr", result);
}

// Others write into the segment as soon as they have met this rank.
MessageLibrary::State GaspiMessages::make_channel() noexcept {
  if (step_ == Step::begin) {
    if (!allocate()) {
      return State::failed;
    }
    next_ = 0;
    step_ = Step::register_segment;
  }
  while (step_ == Step::register_segment) {
    const auto other = static_cast<Gaspi::Rank>(next_);
    Gaspi::Return result = other == rank_ ? Gaspi::success : gaspi_.connect(other, longest_call);
    if (result == Gaspi::success) {
      result = gaspi_.segment_register(segment_, other, longest_call);
    }
    if (result == Gaspi::timeout) {
      return State::under_way;
    }
    if (result != Gaspi::success) {
      fail("gaspi_segment_register", result);
      return State::failed;
    }
    if (++next_ == size_) {
      next_ = 0;
      step_ = Step::meet;
    }
  }
  if (step_ == Step::meet) {
    const Gaspi::Return result = gaspi_.barrier(Gaspi::all_ranks, Gaspi::test);
    if (result == Gaspi::timeout) {
      return State::under_way;
    }
    if (result != Gaspi::success) {
      fail("gaspi_barrier", result);
      return State::failed;
    }
    step_ = Step::done;
  }
  return State::ended;
}

// A rank that sends the next card but one has those of all before, so that they have this one's.
MessageLibrary::State GaspiMessages::gather(std::span<const std::byte> own, std::span<std::byte> all) noexcept {
  if (own.size() != bytes_of_a_card || all.size() != size_ * bytes_of_a_card) {
    failure_ = "a card has another size";
    return State::failed;
  }
  const auto words = static_cast<Gaspi::Notification>((2 + exchanges_ % 2) * size_);
  if (next_ == 0) {
    std::ranges::copy(own, memory_ + card(size_));
    std::ranges::copy(own, memory_ + card(rank_));
  }
  for (; next_ < size_; ++next_) {
    if (next_ == rank_) {
      continue;
    }
    const Gaspi::Return result =
        !has_room_in_queue()
            ? Gaspi::timeout
            : gaspi_.write_notify(segment_, card(size_), static_cast<Gaspi::Rank>(next_), segment_, card(rank_),
                                  bytes_of_a_card, words + static_cast<Gaspi::Notification>(rank_), is_word, queue_,
                                  Gaspi::test);
    if (result == Gaspi::timeout) {
      break;
    }
    if (result != Gaspi::success) {
      fail("gaspi_write_notify", result);
      return State::failed;
    }
  }
  Gaspi::Notification id = 0;
  Gaspi::Notification value = 0;
  while (gaspi_.notify_waitsome(segment_, words, static_cast<Gaspi::Number>(size_), &id, Gaspi::test) ==
         Gaspi::success) {
    gaspi_.notify_reset(segment_, id, &value);
    ++cards_;
  }
  if (next_ < size_ || cards_ + 1 < size_) {
    return State::under_way;
  }
  std::atomic_thread_fence(std::memory_order_acquire);
  std::memcpy(all.data(), memory_ + card(0), all.size());
  ++exchanges_;
  next_ = 0;
  cards_ = 0;
  return State::ended;
}

// What has failed there is of a rank whose connection tells of its end.
bool GaspiMessages::has_room_in_queue() noexcept {
  const auto has_room = [&] {
    Gaspi::Number requests = 0;
    return gaspi_.queue_size(queue_, &requests) == Gaspi::success && requests + requests_of_a_write <= most_in_queue_;
  };
  if (has_room()) {
    return true;
  }
  gaspi_.wait(queue_, Gaspi::test);
  return has_room();
}

bool GaspiMessages::post(std::size_t rank, std::uint64_t end, std::size_t offset, std::size_t bytes) {
  if (!has_room_in_queue()) {
    return false;
  }
  const Gaspi::Return result = gaspi_.write_notify(
      segment_, out_ring(rank) + offset, static_cast<Gaspi::Rank>(rank), segment_, in_ring(rank_) + offset, bytes,
      static_cast<Gaspi::Notification>(rank_), word_of(end), queue_, Gaspi::test);
  if (result == Gaspi::timeout) {
    return false;
  }
  if (result == Gaspi::success) {
    peers_[rank].written = end;
  } else {
    fail("gaspi_write_notify", result);
    peers_[rank].failure = failure_;
  }
  return true;
}

bool GaspiMessages::place(std::size_t rank, std::span<const std::byte> bytes, int tag) {
  Peer& to = peers_[rank];
  const std::size_t size = in_units(sizeof(MessageHead) + bytes.size());
  const auto free = [&] { return ring_ - (to.written - to.taken_there); };
  const std::size_t rest = ring_ - to.written % ring_;
  if (rest < size) {
    const MessageHead skip{.bytes = skips};
    if (free() < rest) {
      return false;
    }
    std::memcpy(memory_ + out_ring(rank) + to.written % ring_, &skip, sizeof skip);
    if (!post(rank, to.written + rest, to.written % ring_, sizeof skip) || !to.failure.empty()) {
      return !to.failure.empty();
    }
  }
  if (free() < size) {
    return false;
  }
  const std::size_t offset = to.written % ring_;
  std::byte* const there = memory_ + out_ring(rank) + offset;
  const MessageHead head{.bytes = bytes.size(), .tag = tag};
  std::memcpy(there, &head, sizeof head);
  std::ranges::copy(bytes, there + sizeof head);
  return post(rank, to.written + size, offset, sizeof head + bytes.size());
}

bool GaspiMessages::send(std::span<const std::byte> bytes, int rank, int tag, RequestHandle& request) noexcept {
  const auto receiver = static_cast<std::size_t>(rank);
  Peer& to = peers_[receiver];
  request = {};
  // With what the receiver has taken and not told, and with a rest that is skipped, a message of this size has room some time.
  if (in_units(sizeof(MessageHead) + bytes.size()) > ring_ / 3) {
    failure_ = "a message of " + std::to_string(bytes.size()) + " bytes is too long";
    return false;
  }
  if (to.failure.empty() && (!to.waiting.empty() || !place(receiver, bytes, tag))) {
    to.waiting.push_back({bytes, tag});
    set_handle(request, receiver, to.placed + to.waiting.size());
    come_back_to(receiver);
    return true;
  }
  if (!to.failure.empty()) {
    failure_ = to.failure;
    return false;
  }
  ++to.placed;
  return true;
}

MessageLibrary::State GaspiMessages::test(RequestHandle& request) noexcept {
  std::uint64_t handle = 0;
  std::memcpy(&handle, request.handle.data(), sizeof handle);
  const Peer& to = peers_[handle >> bits_of_number];
  if (handle == 0 || to.placed >= (handle & ((std::uint64_t{1} << bits_of_number) - 1))) {
    return State::ended;
  }
  if (!to.failure.empty()) {
    failure_ = to.failure;
    return State::failed;
  }
  return State::under_way;
}

void GaspiMessages::come_back_to(std::size_t rank) {
  if (!std::exchange(peers_[rank].is_later, true)) {
    later_.push_back(rank);
  }
}

void GaspiMessages::exchange_with(std::size_t rank) {
  Peer& peer = peers_[rank];
  while (!peer.waiting.empty() && place(rank, peer.waiting.front().bytes, peer.waiting.front().tag)) {
    if (!peer.failure.empty()) {
      peer.waiting.clear();
      return;
    }
    ++peer.placed;
    peer.waiting.pop_front();
  }
  if (peer.failure.empty() && peer.taken - peer.told >= ring_ / 4) {
    const Gaspi::Return result = has_room_in_queue() ? gaspi_.notify(segment_, static_cast<Gaspi::Rank>(rank),
                                                                     static_cast<Gaspi::Notification>(size_ + rank_),
                                                                     word_of(peer.taken), queue_, Gaspi::test)
                                                     : Gaspi::timeout;
    if (result == Gaspi::success) {
      peer.told = peer.taken;
    } else if (result == Gaspi::timeout) {
      come_back_to(rank);
    } else {
      fail("gaspi_notify", result);
      peer.failure = failure_;
    }
  }
  if (!peer.waiting.empty()) {
    come_back_to(rank);
  }
}

void GaspiMessages::take_word(std::size_t id, Gaspi::Notification word) {
  const std::size_t rank = id % size_;
  Peer& from = peers_[rank];
  if (id < size_) {
    from.arrived += behind(from.arrived, word);
    if (!std::exchange(from.is_ready, true)) {
      ready_.push_back(rank);
    }
  } else {
    from.taken_there += behind(from.taken_there, word);
    exchange_with(rank);
  }
}

bool GaspiMessages::look() {
  Gaspi::Number is_there = 0;
  if (gaspi_.initialized(&is_there) != Gaspi::success || is_there == 0) {
    failure_ = "the program has called gaspi_proc_term";
    return false;
  }
  gaspi_.wait(queue_, Gaspi::test);
  const auto end = static_cast<Gaspi::Notification>(2 * size_);
  Gaspi::Notification id = 0;
  for (Gaspi::Notification begin = 0;
       begin < end && gaspi_.notify_waitsome(segment_, begin, end - begin, &id, Gaspi::test) == Gaspi::success;
       begin = id + 1) {
    Gaspi::Notification word = 0;
    if (gaspi_.notify_reset(segment_, id, &word) == Gaspi::success && word != 0) {
      std::atomic_thread_fence(std::memory_order_acquire);
      take_word(id, word);
    }
  }
  for (std::size_t left = later_.size(); left > 0; --left) {
    const std::size_t rank = later_.front();
    later_.pop_front();
    peers_[rank].is_later = false;
    exchange_with(rank);
  }
  return true;
}

MessageLibrary::State GaspiMessages::find(Found& found) noexcept {
  if (ready_.empty() && !look()) {
    return State::failed;
  }
  while (!ready_.empty()) {
    const std::size_t rank = ready_.front();
    Peer& from = peers_[rank];
    const std::size_t offset = from.taken % ring_;
    if (from.taken == from.arrived) {
      ready_.pop_front();
      from.is_ready = false;
      continue;
    }
    MessageHead head;
    std::memcpy(&head, memory_ + in_ring(rank) + offset, sizeof head);
    if (head.bytes == skips) {
      from.taken += ring_ - offset;
      continue;
    }
    if (from.arrived - from.taken > ring_ || head.bytes > ring_ - offset - sizeof head) {
      failure_ = "rank " + std::to_string(rank) + " sends what is no part of the protocol";
      return State::failed;
    }
    found.rank = static_cast<int>(rank);
    found.tag = static_cast<int>(head.tag);
    found.bytes = head.bytes;
    return State::ended;
  }
  return State::under_way;
}

// Of the rank whose turn it is, which is the next one's then.
bool GaspiMessages::receive(Found& found, std::span<std::byte> into, RequestHandle& request) noexcept {
  const auto rank = static_cast<std::size_t>(found.rank);
  Peer& from = peers_[rank];
  request = {};
  std::copy_n(memory_ + in_ring(rank) + from.taken % ring_ + sizeof(MessageHead), into.size(), into.data());
  from.taken += in_units(sizeof(MessageHead) + into.size());
  ready_.pop_front();
  ready_.push_back(rank);
  if (from.taken - from.told >= ring_ / 4) {
    exchange_with(rank);
  }
  return true;
}

GaspiMessages& require_gaspi_messages(int rank, int size, std::chrono::milliseconds limit) {
  const Gaspi& gaspi = Gaspi::get();
  gaspi.begin(limit);
  static auto* const made = new GaspiMessages(gaspi);
  if (const std::string refusal = made->why_not(rank, size); !refusal.empty()) {
    throw std::runtime_error("GASPI cannot reach other nodes: " + refusal);
  }
  return *made;
}

}  // namespace dovetail::comm::rma
