#include "comm/mpi/begun_requests.hpp"

#include <exception>
#include <utility>

namespace dovetail::comm::mpi {

// Never destroyed: tasks may still end while the process does.
BegunRequests& BegunRequests::of_process() {
  static auto* const made = new BegunRequests;
  return *made;
}

std::optional<BegunRequest> BegunRequests::add(std::uint64_t handle, const BegunRequest& begun) noexcept {
  try {
    const base::LockGuard lock(mutex_);
    const auto [place, is_new] = begun_.try_emplace(handle, begun);
    return is_new ? std::nullopt : std::optional(std::exchange(place->second, begun));
  } catch (const std::exception&) {
    return begun;
  }
}

std::optional<BegunRequest> BegunRequests::take(std::uint64_t handle) noexcept {
  const base::LockGuard lock(mutex_);
  const auto found = begun_.find(handle);
  if (found == begun_.end()) {
    return std::nullopt;
  }
  const BegunRequest taken = found->second;
  begun_.erase(found);
  return taken;
}

}  // namespace dovetail::comm::mpi
