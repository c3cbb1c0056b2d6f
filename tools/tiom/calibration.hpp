/// @file
/// Computation that is work and not time: a number of turns of a loop. A core that is stolen delays it, as it delays a
/// program; a wait on the clock would not notice.
#pragma once

#include <cstdint>

namespace dovetail::tiom {

/// Does so many turns of the loop. Each depends on the one before, so that only the clock of the core matters.
void compute(std::uint64_t iterations) noexcept;

/// Turns per millisecond: the fastest of many short trials on one core to which the thread is bound meanwhile, because
/// what disturbs a trial only ever makes it slower. Takes about 0.2 s.
double calibrate();

}  // namespace dovetail::tiom
