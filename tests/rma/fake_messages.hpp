// MPI libraries of several ranks in one process. What one sends stays in its memory until the other one has received it; what has ended is told late; a
// rank may stop.
#pragma once

#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "comm/rma/message_library.hpp"
#include "tasking/support.hpp"

namespace dovetail::comm::rma::test {

class FakeMessages final : public MessageLibrary {
 public:
  /// What all ranks have in common.
  struct World {
    struct Sent {
      std::uint64_t request;
      std::span<const std::byte> bytes;
      int tag;
    };
    explicit World(dovetail::test::Random& numbers) : random(numbers) {}
    dovetail::test::Random& random;
    std::map<std::pair<int, int>, std::deque<Sent>> sent;  // by sender and receiver
    std::map<std::uint64_t, bool> has_ended;
    std::size_t size = 0;
  };

  FakeMessages(World& world, int rank) : world_(world), rank_(rank) { ++world.size; }

  std::string version() const override { return "Open MPI v9.9.9, of a test"; }
  std::string why_not(int /*rank*/, int /*size*/) const override { return {}; }
  void at_end(void (*call)() noexcept) override { end = call; }
  bool has_channel() const noexcept override { return true; }
  State make_channel() noexcept override { return State::ended; }
  void drop_channel() noexcept override {}
  State gather(std::span<const std::byte> /*own*/, std::span<std::byte> /*all*/) noexcept override {
    return State::failed;
  }

  bool send(std::span<const std::byte> bytes, int rank, int tag, RequestHandle& request) noexcept override {
    if (rank == refused) {
      return false;
    }
    ++sent[rank];
    world_.sent[{rank_, rank}].push_back({begin(request), bytes, tag});
    return true;
  }
  State find(Found& found) noexcept override {
    if (world_.random.once_in(3)) {
      return State::under_way;
    }
    const auto first = static_cast<int>(world_.random.between(0, world_.size - 1));
    for (std::size_t i = 0; i < world_.size; ++i) {
      const int from = (first + static_cast<int>(i)) % static_cast<int>(world_.size);
      auto& queue = world_.sent[{from, rank_}];
      if (!queue.empty()) {
        const World::Sent next = queue.front();
        queue.pop_front();
        matched_[next.request] = next;
        std::memcpy(found.message.data(), &next.request, sizeof next.request);
        found.rank = from;
        found.tag = next.tag;
        found.bytes = next.bytes.size();
        return State::ended;
      }
    }
    return State::under_way;
  }
  bool receive(Found& found, std::span<std::byte> into, RequestHandle& request) noexcept override {
    std::uint64_t message = 0;
    std::memcpy(&message, found.message.data(), sizeof message);
    receives_[begin(request)] = {message, into};
    return true;
  }
  // A receive ends some time after it has begun, and before it the memory of the sender is read.
  State test(RequestHandle& request) noexcept override {
    std::uint64_t number = 0;
    std::memcpy(&number, request.handle.data(), sizeof number);
    if (world_.random.once_in(3)) {
      return State::under_way;
    }
    if (const auto found = receives_.find(number); found != receives_.end()) {
      const auto [message, into] = found->second;
      std::memcpy(into.data(), matched_[message].bytes.data(), into.size());
      world_.has_ended[message] = true;
      world_.has_ended[number] = true;
      receives_.erase(found);
    }
    if (!world_.has_ended[number]) {
      return State::under_way;
    }
    world_.has_ended.erase(number);
    return State::ended;
  }
  const std::string& failure() const noexcept override { return why_; }

  /// So many messages to the rank have not been received.
  std::size_t waiting(int rank) { return world_.sent[{rank_, rank}].size(); }

  void (*end)() noexcept = nullptr;
  std::map<int, std::size_t> sent;  ///< So many messages, by receiver.
  int refused = -1;                 ///< Nothing can be sent to it.

 private:
  std::uint64_t begin(RequestHandle& request) {
    const std::uint64_t number = next_number++;
    world_.has_ended[number] = false;
    std::memcpy(request.handle.data(), &number, sizeof number);
    return number;
  }
  static inline std::uint64_t next_number = 1;  // of all worlds: what is left of one is in none of the others
  World& world_;
  const int rank_;
  std::map<std::uint64_t, World::Sent> matched_;
  std::map<std::uint64_t, std::pair<std::uint64_t, std::span<std::byte>>> receives_;
  const std::string why_ = "it is refused";
};

}  // namespace dovetail::comm::rma::test
