// When workers compute: slices, and what of them the processor worked on.
#pragma once

#include <cstddef>
#include <vector>

#include "trace/timeline.hpp"

namespace dovetail::trace {

/// A stretch of one thread during which the same slice was the innermost.
struct Stretch {
  std::size_t thread = 0;
  Time begin = 0;
  Time end = 0;
  /// How much of it the processor worked on: 0 to 1.
  double share = 1;
};

/// Cuts slices of any threads, which may nest but not overlap otherwise, into stretches without overlaps on one thread. The
/// processor time of a slice counts as spread evenly over what is its own, without the slices inside of it.
std::vector<Stretch> stretches_of(std::vector<Slice> slices);

struct Interval {
  Time begin = 0;
  Time end = 0;
};

/// What `Summary` says of computing and of I/O, in nanoseconds. What is said of I/O here holds for whatever else may be hidden.
struct Shares {
  double computed = 0;   ///< Over all threads together.
  double blocked = 0;    ///< The same.
  double computing = 0;  ///< At least one thread.
  double io = 0;         ///< At least one interval of I/O.
  double hidden = 0;     ///< Both.
};

/// @param io In any order; they may overlap.
Shares shares_of(const std::vector<Stretch>& computing, const std::vector<Interval>& io, Time since);

}  // namespace dovetail::trace
