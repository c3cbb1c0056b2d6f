// Little work is left to one worker. See docs/design/stealing.md, "Little work".
#pragma once

#include <cstdint>

#include "tasking/worker.hpp"

namespace dovetail::tasking {

/// Finds out anew, after a sleep, which worker could do the work of this one: the refuge. Time in ticks.
void find_refuge(Worker& worker, std::uint64_t now) noexcept;
/// Hands the tasks that a poll has woken to the refuge. Operations that they begin next are the other worker's, and wake this
/// one no more.
void retreat(Worker& worker) noexcept;
/// Whether the tasks of the other worker are better left to it. They are if it keeps them to itself, or if this one has just
/// given them to it.
bool is_better_left_alone(const Worker& worker, const Peer& other, std::uint64_t now) noexcept;

}  // namespace dovetail::tasking
