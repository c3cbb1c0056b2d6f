// Little work is left to one worker. See docs/design/stealing.md, "Little work".
#pragma once

#include <cstdint>

#include "tasking/worker.hpp"

namespace dovetail::tasking {

/// Finds out anew, after a sleep, who could do what this worker does. Time in ticks.
void find_refuge(Worker& worker, std::uint64_t now) noexcept;
/// Hands the tasks that a poll has woken to the refuge. What they begin next is the other worker's, and wakes this one no more.
void retreat(Worker& worker) noexcept;
/// Whether the tasks of that worker are better left to it: it keeps them to itself, or it has just been given them by this one.
bool is_better_left_alone(const Worker& worker, const Peer& other, std::uint64_t now) noexcept;

}  // namespace dovetail::tasking
