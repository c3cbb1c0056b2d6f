// Bytes that a task moves are counted, for whoever shares out the device.
#pragma once

#include <cstdint>

#include "tasking/gate.hpp"
#include "tasking/pause.hpp"

namespace dovetail::storage {

/// For the calling task; nothing outside of a task. Few tasks have a ticket.
inline void count_moved(std::uint64_t bytes) noexcept {
  if (tasking::Ticket* const ticket = tasking::ticket_of(tasking::current_task())) [[unlikely]] {
    ticket->count_moved(bytes);
  }
}

}  // namespace dovetail::storage
