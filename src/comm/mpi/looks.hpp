// How much of what waits a poll asks for. Numbers only.
#pragma once

#include <algorithm>

namespace dovetail::comm::mpi {

struct Looks {
  unsigned allowed = 1;  ///< At each of several queues.
  unsigned taken = 1;    ///< At the one that took most. The time of the poll is divided by this.

  void took(unsigned looks) noexcept { taken = std::max(taken, looks); }
};

}  // namespace dovetail::comm::mpi
