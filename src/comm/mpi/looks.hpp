// How much of what waits a poll asks for. Numbers only.
#pragma once

#include <algorithm>

namespace dovetail::comm::mpi {

struct Looks {
  unsigned allowed = 1;  ///< At each of several queues.
  unsigned taken = 1;    ///< At the one that took most: what several looks take says what one takes.

  void took(unsigned looks) noexcept { taken = std::max(taken, looks); }
};

}  // namespace dovetail::comm::mpi
