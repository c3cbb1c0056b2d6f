/// @file
/// Figures of repeated measurements.
#pragma once

#include <vector>

namespace dovetail::tiom {

/// The middle value; of an even number, the mean of the two. 0 of none.
double median(std::vector<double> values);
/// Half of the distance of the extremes, divided by the median: how far runs of the same thing are apart. 0 of fewer than two values.
double spread(const std::vector<double>& values);

}  // namespace dovetail::tiom
