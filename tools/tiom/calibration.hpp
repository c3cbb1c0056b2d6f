/// @file
/// Computation that is work and not time: a number of turns of a loop. A core that is stolen delays it, as it delays a
/// program; a wait on the clock would not notice.
#pragma once

#include <cstdint>

namespace dovetail::tiom {

/// Does so many turns of the loop. Each depends on the one before, so that only the clock of the core matters.
void compute(std::uint64_t iterations) noexcept;

/// Turns per millisecond of each core while `workers` of them compute, each by a thread bound to it: the average over a tenth of a
/// second, the median of five. All cores at once, since neighbours may share their clock or their execution units. An average, as
/// the device's curve is one: what interrupts and other machines on the same host take is taken from a program too. Takes
/// about 0.5 s.
double calibrate(unsigned workers);

}  // namespace dovetail::tiom
