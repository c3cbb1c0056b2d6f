#include "comm/mpi/begun_requests.hpp"

#include <bit>

namespace dovetail::comm::mpi {

BegunRequests& BegunRequests::of_process() noexcept {
  static constinit BegunRequests made;
  return made;
}

// Numbers that are small, or differ by little, must not make up for each other.
std::uint64_t BegunRequests::Entry::check_of(const Words& words) noexcept {
  return words[0] ^ std::rotl(words[1], 11) ^ std::rotl(words[2], 23) ^ std::rotl(words[3], 34) ^
         std::rotl(words[4], 45) ^ std::rotl(words[5], 56);
}

void BegunRequests::Entry::write(std::uint64_t handle, const BegunRequest& begun) noexcept {
  const Words words{
      handle,
      std::bit_cast<std::uint64_t>(begun.call),
      std::bit_cast<std::uint64_t>(begun.communicator.handle),
      static_cast<std::uint32_t>(begun.peer) | std::uint64_t{static_cast<std::uint32_t>(begun.tag)} << 32U,
      begun.message,
      std::bit_cast<std::uint64_t>(begun.channel)};
  for (std::size_t i = 0; i < words.size(); ++i) {
    words_[i].store(words[i], std::memory_order_relaxed);
  }
  check_.store(check_of(words), std::memory_order_relaxed);
}

std::optional<BegunRequest> BegunRequests::Entry::read(std::uint64_t handle) const noexcept {
  Words words{};
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] = words_[i].load(std::memory_order_relaxed);
  }
  if (words[0] != handle || words[1] == 0 || check_.load(std::memory_order_relaxed) != check_of(words)) {
    return std::nullopt;
  }
  return BegunRequest{.call = std::bit_cast<const BegunCall*>(words[1]),
                      .communicator = {std::bit_cast<decltype(Communicator::handle)>(words[2])},
                      .peer = static_cast<int>(static_cast<std::uint32_t>(words[3])),
                      .tag = static_cast<int>(static_cast<std::uint32_t>(words[3] >> 32U)),
                      .message = words[4],
                      .channel = std::bit_cast<const Channel*>(words[5])};
}

BegunRequests::Entry* BegunRequests::Set::find(std::uint64_t handle) noexcept {
  for (Entry& entry : entries) {
    if (entry.handle() == handle && entry.is_used()) {
      return &entry;
    }
  }
  return nullptr;
}

std::uint64_t BegunRequests::add(std::uint64_t handle, const BegunRequest& begun) noexcept {
  if (!is_used_.load(std::memory_order_relaxed)) [[unlikely]] {
    is_used_.store(true, std::memory_order_relaxed);
  }
  Set& set = sets_[place_of(handle)];
  Entry* entry = set.find(handle);
  if (entry == nullptr) {
    const std::size_t oldest = set.oldest.load(std::memory_order_relaxed);
    set.oldest.store((oldest + 1) % most_of_a_set, std::memory_order_relaxed);
    entry = &set.entries[oldest];
  }
  const std::uint64_t forgotten = entry->message();
  entry->write(handle, begun);
  return forgotten;
}

std::optional<BegunRequest> BegunRequests::find(std::uint64_t handle) const noexcept {
  if (is_used_.load(
          std::memory_order_relaxed)) {  // else libdovetail-mpi.so does not stand before the calls of this program
    for (const Entry& entry : sets_[place_of(handle)].entries) {
      if (auto found = entry.read(handle)) {
        return found;
      }
    }
  }
  return std::nullopt;
}

std::optional<BegunRequest> BegunRequests::take_message(std::uint64_t handle) noexcept {
  Entry* const entry = sets_[place_of(handle)].find(handle);
  const auto taken = entry != nullptr ? entry->read(handle) : std::nullopt;
  if (!taken || taken->message == 0) {
    return std::nullopt;
  }
  BegunRequest left = *taken;
  left.message = 0;
  entry->write(handle, left);
  return taken;
}

}  // namespace dovetail::comm::mpi
