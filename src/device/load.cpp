#include "device/load.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace dovetail::device {

bool Transfer::attempted(std::int64_t result) noexcept {
  if (result == -EINTR || result == -EAGAIN) {
    return true;
  }
  if (result <= 0) {
    // A transfer that moves nothing and gives no error would be tried for ever; such a read has met the end of the
    // file.
    error = result < 0 ? static_cast<int>(-result) : EIO;
    return false;
  }
  const std::uint64_t bytes = std::min(static_cast<std::uint64_t>(result), remaining);
  data += bytes;
  offset += bytes;
  remaining -= bytes;
  return remaining > 0;
}

void Transfer::perform() noexcept {
  std::int64_t result = 0;
  do {
    const auto place = static_cast<off_t>(offset);
    const ssize_t moved = direction == Direction::read ? ::pread(descriptor, data, remaining, place)
                                                       : ::pwrite(descriptor, data, remaining, place);
    result = moved < 0 ? -errno : moved;
  } while (attempted(result));
}

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
  slot.transfer = {.descriptor = shape_.descriptor,
                   .direction = shape_.direction,
                   .data = next_memory(slot),
                   .offset = (*shape_.order)[number % shape_.order->size()] * shape_.block,
                   .remaining = shape_.block};
  slot.begun = Clock::now();
  return true;
}

bool Load::ended(Slot& slot) noexcept {
  const Clock::time_point now = Clock::now();
  const Transfer& transfer = slot.transfer;
  if (transfer.error != 0) [[unlikely]] {
    const base::LockGuard lock(failing_);
    if (error_ == 0 || transfer.offset < error_offset_) {
      error_ = transfer.error;
      error_offset_ = transfer.offset;
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

}  // namespace dovetail::device
