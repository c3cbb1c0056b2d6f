/// @file
/// Computation that is work and not time: a number of turns of a loop. A stolen core delays it, as it delays a program; it would not delay a wait
/// on the clock.
#pragma once

#include <cstdint>

namespace dovetail::tiom {

/// Does so many turns of the loop. Each depends on the one before, so that only the clock of the core matters.
void compute(std::uint64_t iterations) noexcept;

/// How fast the cores compute.
struct Calibration {
  double iterations_per_ms = 0;  ///< Turns per millisecond of processor time, of each core while all of them compute.
  /// Processor time by wall time: how much of the cores the measurement got. Less than 1 where other programs used them.
  double share = 1;
};

/// Less than this of the cores, and the machine is busy.
constexpr double least_share = 0.95;

/// Measures with `workers` threads, each bound to a core: the average over a tenth of a second, the median of five. All cores compute at once,
/// since neighbours may share their clock or their execution units. Processor time counts, so that a core which others use, too, does not seem
/// slow. On a busy machine it repeats this at most three times, and the quietest counts. Each takes about 0.5 s.
Calibration calibrate(unsigned workers);
/// The turns per millisecond, and a notice on standard error if the machine was busy.
double calibrate_and_tell(unsigned workers);

}  // namespace dovetail::tiom
