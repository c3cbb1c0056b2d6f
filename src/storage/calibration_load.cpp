#include "storage/calibration_load.hpp"

#include <algorithm>
#include <utility>

namespace dovetail::storage {

Load::Load(const Shape& shape, GoOn go_on)
    : shape_(shape),
      go_on_(std::move(go_on)),
      slots_(shape.depth),
      places_(shape.memory_size / shape.block / shape.depth) {}

// Slots end in any order, so that only what is a slot's own is free when its request has ended.
std::byte* Load::next_memory(Slot& slot) noexcept {
  const auto index = static_cast<std::size_t>(&slot - slots_.data());
  const std::size_t place = places_ == 0 ? index % std::max<std::size_t>(1, shape_.memory_size / shape_.block)
                                         : slot.turns % places_ * slots_.size() + index;
  ++slot.turns;
  return shape_.memory + place * shape_.block;
}

bool Load::begin(Slot& slot) noexcept {
  if (stopped_.load(std::memory_order_relaxed)) {
    return false;
  }
  const std::uint64_t number = begun_.fetch_add(1, std::memory_order_relaxed);
  if (number >= shape_.limit) {
    return false;
  }
  Request& request = slot.request;
  request.kind = shape_.direction == Direction::read ? Kind::read : Kind::write;
  request.descriptor = shape_.descriptor;
  request.data = next_memory(slot);
  request.remaining = shape_.block;
  request.transferred = 0;
  request.error = 0;
  request.offset = (*shape_.order)[number % shape_.order->size()] * shape_.block;
  plan_attempt(request);
  slot.begun = Clock::now();
  return true;
}

bool Load::ended(Slot& slot) noexcept {
  const Clock::time_point now = Clock::now();
  const Request& request = slot.request;
  const int error = request.error != 0 ? request.error : request.remaining != 0 ? EIO : 0;
  if (error != 0) [[unlikely]] {
    const std::lock_guard lock(failing_);
    if (error_ == 0 || request.offset < error_offset_) {
      error_ = error;
      error_offset_ = request.offset;
    }
    stop();
    return false;
  }
  if (const unsigned epoch = epoch_.load(std::memory_order_relaxed); slot.epoch != epoch) {
    slot.epoch = epoch;
    slot.samples = 0;
    slot.latencies.clear();
  }
  const auto latency = std::chrono::duration<float>(now - slot.begun).count();
  if (slot.latencies.size() < samples_kept) {
    slot.latencies.push_back(latency);
  } else {
    slot.latencies[slot.samples % samples_kept] = latency;
  }
  ++slot.samples;
  if (!go_on_(ended_.fetch_add(1, std::memory_order_relaxed) + 1, now)) {
    stop();
    return false;
  }
  return true;
}

double Load::latency(double share) const {
  std::vector<float> all;
  for (const Slot& slot : slots_) {
    all.insert(all.end(), slot.latencies.begin(), slot.latencies.end());
  }
  if (all.empty()) {
    return 0;
  }
  const auto place = all.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(all.size() - 1));
  std::nth_element(all.begin(), place, all.end());
  return static_cast<double>(*place);
}

}  // namespace dovetail::storage
