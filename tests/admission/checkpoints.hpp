// Equal tasks on devices of several laws, and the best that a constant number of them at once can do.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "simulator.hpp"

namespace dovetail::admission::test {

inline constexpr double checkpoint = 16.777216;  // MB
inline const CongestionLaw ssd{};
inline const CongestionLaw disk{400, 1, 1, 5};

// Seconds that so many equal tasks take, all ready at once.
inline double total(const CongestionLaw& law, const StorageBandwidth& constraint, unsigned tasks,
                    unsigned executors = 64) {
  Simulator simulator(law, executors);
  TaskType& type = simulator.type("checkpoint", constraint);
  for (unsigned i = 0; i < tasks; ++i) {
    simulator.arrive(type, checkpoint);
  }
  return simulator.run();
}

inline double best_static(const CongestionLaw& law, unsigned tasks) {
  double best = 1e300;
  for (unsigned at_once = 1; at_once <= 64; ++at_once) {
    best = std::min(best, total(law, law.peak / at_once, tasks));
  }
  return best;
}

inline const std::vector<CongestionLaw> laws{ssd,
                                             disk,
                                             {400, 1, 1, 0.2},
                                             {400, 3, 3, 0.5},
                                             {400, 4, 4, 0.15},
                                             {400, 6, 8, 0.3},
                                             {400, 8, 16, 0.1},
                                             {400, 2, 64, 0}};

inline std::string name(const CongestionLaw& law) {
  return "saturation " + std::to_string(law.saturation) + ", knee " + std::to_string(law.knee) + ", penalty " +
         std::to_string(law.penalty);
}

}  // namespace dovetail::admission::test
