/// @file
/// How much work each point of a sweep gets.
#pragma once

#include <vector>

#include "curves.hpp"
#include "settings.hpp"

namespace dovetail::tiom {

/// Seconds that one run of `point` takes about, in the standalone variant: its cores compute, and wait for the device.
/// Without a curve only the computation is known. At most the time limit.
double expected_seconds(const Settings& settings, const Point& point, const Curves& curves);

/// Chooses `operations` of every point so that all runs together take about `seconds`. Each run gets equal time, but every series at least four
/// rounds, or as few as one where four do not fit. All variants of a point do the same work.
/// @returns the expected seconds: more than asked for if one round of each series takes longer already.
double share_budget(const Settings& settings, const Curves& curves, double seconds, std::vector<Point>& points);

}  // namespace dovetail::tiom
