#include "comm/mpi/begun_requests.hpp"

#include <array>
#include <bit>

namespace dovetail::comm::mpi {

BegunRequests& BegunRequests::of_process() noexcept {
  static constinit BegunRequests made;
  return made;
}

bool BegunRequests::Entry::forget_message(std::uint64_t handle, const BegunRequest& known) noexcept {
  std::uint64_t message = known.message;
  if (!words_[4].compare_exchange_strong(message, 0, std::memory_order_relaxed)) {
    return false;
  }
  // Of what was read, not of what is here now: if another thread is noting a request meanwhile, the entry counts as none.
  check_.store(
      check_of(handle, std::bit_cast<std::uint64_t>(known.call),
               std::bit_cast<std::uint64_t>(known.communicator.handle), peer_and_tag(known.peer, known.tag), 0, 0),
      std::memory_order_relaxed);
  return true;
}

std::optional<BegunRequest> BegunRequests::Entry::read(std::uint64_t handle) const noexcept {
  std::array<std::uint64_t, 6> words{};
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] = words_[i].load(std::memory_order_relaxed);
  }
  if (words[0] != handle || words[1] == 0 ||
      check_.load(std::memory_order_relaxed) != check_of(words[0], words[1], words[2], words[3], words[4], words[5])) {
    return std::nullopt;
  }
  return BegunRequest{.call = std::bit_cast<const BegunCall*>(words[1]),
                      .communicator = {std::bit_cast<decltype(Communicator::handle)>(words[2])},
                      .peer = static_cast<int>(static_cast<std::uint32_t>(words[3])),
                      .tag = static_cast<int>(static_cast<std::uint32_t>(words[3] >> 32U)),
                      .message = words[4],
                      .channel = words[4] != 0 ? std::bit_cast<const Channel*>(words[5]) : nullptr};
}

BegunRequests::Entry& BegunRequests::Set::oldest_entry() noexcept {
  const std::size_t place = oldest.load(std::memory_order_relaxed);
  oldest.store((place + 1) % most_of_a_set, std::memory_order_relaxed);
  return entries[place];
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
  if (!taken || taken->message == 0 || !entry->forget_message(handle, *taken)) {
    return std::nullopt;
  }
  return taken;
}

}  // namespace dovetail::comm::mpi
