// The replay of a graph on a machine, in SimGrid.
#pragma once

#include <cstdint>
#include <vector>

#include "graph.hpp"
#include "machine.hpp"

namespace scaling {

struct SimulatedRun {
  double seconds = 0;        ///< Until the last task has completed.
  double computing = 0;      ///< What the bodies compute, of all cores together.
  double overhead = 0;       ///< What tasks and messages cost beside that.
  double locked = 0;         ///< That workers have spent in or before the MPI library's lock.
  std::uint64_t events = 0;  ///< Bodies and messages that were simulated.
};

/// Each worker of a rank runs one body at a time; the bodies of a node share its cores, as do ranks that spin. A message takes the link of its sender's node
/// and that of its receiver's. Once in a process: SimGrid is one for it. @throws BadInput if the graph cannot end.
SimulatedRun simulate(const Graph& graph, const Machine& machine);

}  // namespace scaling
