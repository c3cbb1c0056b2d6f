// Where workers should run and from which others they should steal first.
#pragma once

#include <vector>

namespace dovetail::base {

/// The processing units that this process may use, in an order that fills cores before hardware threads.
struct Topology {
  struct Unit {
    unsigned processor;  ///< Number that the operating system gives it.
    unsigned numa_node;  ///< Number of its memory node.
  };
  std::vector<Unit> units;
};

/// Looks at the machine and at the affinity of the calling thread. Falls back on the plain list of allowed processors.
Topology discover_topology();
/// Number of processors that the calling thread may use, without looking at the machine. At least 1.
unsigned allowed_processors() noexcept;
/// Binds the calling thread. Returns false where the system refuses.
bool bind_to_processor(unsigned processor) noexcept;

}  // namespace dovetail::base
