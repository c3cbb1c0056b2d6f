// What comes from other ranks over the fabric, and what they are answered.
#include <atomic>
#include <cstdint>
#include <string>

#include "comm/rma/fabric.hpp"

namespace dovetail::comm::rma {
namespace {

// Atomic operations of other processes of the node reach the same memory.
std::uint64_t change_number(std::uint64_t& number, const Message& request) noexcept {
  const std::atomic_ref<std::uint64_t> shared(number);
  if (request.kind == Message::Kind::fetch_add) {
    return shared.fetch_add(request.second);
  }
  std::uint64_t before = request.second;
  shared.compare_exchange_strong(before, request.third);
  return before;
}

}  // namespace

void Fabric::data_arrived(std::uint64_t data) noexcept {
  const auto rank = static_cast<int>(data >> 48);
  if (static_cast<std::size_t>(rank) < lanes_.size()) {
    arrivals_.notified(rank, Notification::unpack(data & 0xffff'ffff'ffff));
  }
}

void Fabric::answer(const Message& request) {
  std::uint64_t* const number = arrivals_.number_at(request.segment, request.first);
  if (number == nullptr) {
    arrivals_.lost(request.rank, "it wants to change a number that is in no segment");
    return;
  }
  send(request.rank, {.kind = Message::Kind::answer, .id = request.id, .first = change_number(*number, request)});
}

void Fabric::message_arrived(const Message& message) noexcept {
  if (message.rank < 0 || static_cast<std::size_t>(message.rank) >= lanes_.size()) {
    return;
  }
  switch (message.kind) {
    case Message::Kind::notification:
      arrivals_.notified(message.rank, Notification::unpack(message.first));
      break;
    case Message::Kind::taken:
      arrivals_.taken(message.rank, message.first);
      break;
    case Message::Kind::fetch_add:
    case Message::Kind::compare_swap:
      answer(message);
      break;
    case Message::Kind::answer:
      if (const auto expected = answers_.find(message.id); expected != answers_.end()) {
        *expected->second.before = message.first;
        drop(*expected->second.call);
        answers_.erase(expected);
      }
      break;
    case Message::Kind::goodbye:
      arrivals_.said_goodbye(message.rank);
      send(message.rank, {.kind = Message::Kind::farewell});
      break;
    case Message::Kind::farewell:
      lanes_[static_cast<std::size_t>(message.rank)].has_parted = true;
      break;
    case Message::Kind::left:
      arrivals_.left(message.rank, message.segment);
      break;
  }
}

void Fabric::rank_failed(int rank, const std::string& failure) noexcept {
  if (rank != rank_ && lanes_[static_cast<std::size_t>(rank)].why_ended.empty()) {
    arrivals_.lost(rank, name_ + ": " + failure);
  }
}

void Fabric::broke(const std::string& failure) noexcept {
  for (std::size_t rank = 0; rank < lanes_.size(); ++rank) {
    rank_failed(static_cast<int>(rank), failure);
  }
}

}  // namespace dovetail::comm::rma
