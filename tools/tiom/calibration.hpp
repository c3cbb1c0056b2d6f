/// @file
/// Computation that is work and not time: a number of turns of a loop. A core that is stolen delays it, as it delays a
/// program; a wait on the clock would not notice.
#pragma once

#include <cstdint>

namespace dovetail::tiom {

/// Does so many turns of the loop. Each depends on the one before, so that only the clock of the core matters.
void compute(std::uint64_t iterations) noexcept;

/// Turns per millisecond of each core while `workers` of them compute, each by a thread bound to it: of many short trials
/// the one whose slowest core was the fastest, because what disturbs a trial only ever makes it slower. All cores at
/// once, since neighbours may share their clock or their execution units. Takes about 0.3 s.
double calibrate(unsigned workers);

}  // namespace dovetail::tiom
