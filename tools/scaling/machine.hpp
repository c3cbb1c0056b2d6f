// The machine that is simulated: its nodes, its network, and what Dovetail and MPI cost on it.
#pragma once

#include <array>
#include <string>

#include "graph.hpp"

namespace scaling {

/// What one way to communicate costs, in seconds.
struct VariantCosts {
  double task = 0;   ///< To schedule and complete one task, of the core of its worker.
  double spawn = 0;  ///< To spawn one, of a core: of the worker's, unless the node has one for the thread that spawns.
  double send = 0;   ///< To send a message, of a core.
  double receive = 0;  ///< To take one, of a core.
  double locked = 0;   ///< Of each message: in the MPI library, which lets one thread of a rank in at a time.
  double notice = 0;   ///< From the arrival of a message until its task knows, if all its workers wait.
  bool spins = false;  ///< A rank that waits uses a core.
};

struct Machine {
  std::string name;
  unsigned cores = 1;           ///< Of a node.
  unsigned ranks_per_node = 0;  ///< 0: all ranks are on one node.
  unsigned workers = 1;         ///< Of a rank.
  double speed = 1;             ///< Of a core; 1: that on which the costs of bodies were measured.
  double latency = 0;           ///< Seconds between nodes.
  double bandwidth = 0;         ///< Bytes a second of a node's link, each way.
  double local_latency = 0;     ///< The same within a node.
  double local_bandwidth = 0;
  double slice =
      0;  ///< For so long a rank that never sleeps keeps a core that it shares; 0: they compute side by side.
  std::array<VariantCosts, 3> variants;  ///< By `Variant`.

  const VariantCosts& of(Variant variant) const { return variants[static_cast<std::size_t>(variant)]; }
};

/// Each figure is an object: its `value`, and where it is from as `source`. What a variant has of its own is below its name.
/// @throws BadInput naming the file and what is wrong with it.
Machine read_machine(const std::string& path, Variant variant);

}  // namespace scaling
