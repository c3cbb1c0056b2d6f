// One side of a fabric, as its tests see it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "comm/rma/fabric.hpp"

namespace dovetail::comm::rma::test {

// What one side has been told, and the memory that the other side reaches.
class Side final : public FabricArrivals {
 public:
  Side(std::unique_ptr<FabricEndpoint> endpoint, int rank, int size = 2)
      : numbers(4096), fabric(std::move(endpoint), *this, rank, size) {}

  void notified(int rank, Notification notification) noexcept override {
    const std::lock_guard lock(mutex);
    // What was written before is there: the sender writes its value first.
    const auto& place = reinterpret_cast<std::uint64_t&>(numbers[notification.id]);
    seen.push_back({rank, notification, place});
  }
  void taken(int /*rank*/, std::uint64_t count) noexcept override { taken_there = count; }
  std::uint64_t* number_at(std::uint8_t segment, std::uint64_t offset) noexcept override {
    return segment == 0 && offset < numbers.size() * sizeof numbers[0] ? &numbers[offset / sizeof numbers[0]] : nullptr;
  }
  void said_goodbye(int /*rank*/) noexcept override { has_left = true; }
  void left(int /*rank*/, std::uint8_t segment) noexcept override {
    const std::lock_guard lock(mutex);
    seen_when_left = seen.size();
    left_segment = segment;
  }
  void lost(int /*rank*/, const std::string& why) noexcept override {
    const std::lock_guard lock(mutex);
    why_lost = why;
    ++losses;
  }

  struct Seen {
    int rank;
    Notification notification;
    std::uint64_t value;
  };
  std::size_t seen_so_far() {
    const std::lock_guard lock(mutex);
    return seen.size();
  }

  std::vector<std::uint64_t> numbers;
  std::mutex mutex;
  std::vector<Seen> seen;
  std::string why_lost;
  std::atomic<unsigned> losses{0};
  std::atomic<std::uint64_t> taken_there{0};
  std::atomic<bool> has_left{false};
  std::atomic<int> left_segment{-1};
  std::size_t seen_when_left = 0;
  Fabric fabric;
  std::unique_ptr<Registration> registration;
};

}  // namespace dovetail::comm::rma::test
