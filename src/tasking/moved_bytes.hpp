// Counts the bytes that a task moves to or from files and other nodes. The gate that admits tasks to a device reads the count.
#pragma once

#include <cstdint>

#include "tasking/gate.hpp"
#include "tasking/pause.hpp"

namespace dovetail::tasking {

/// For the calling task; nothing outside of a task. Few tasks have a ticket.
inline void count_moved(std::uint64_t bytes) noexcept {
  if (Ticket* const ticket = ticket_of(current_task())) [[unlikely]] {
    ticket->count_moved(bytes);
  }
}

}  // namespace dovetail::tasking
