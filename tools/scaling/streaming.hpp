// The graph of examples/streaming: blocks of chunks go through a chain of stages.
#pragma once

#include "graph.hpp"

namespace scaling {

struct Streaming {
  Variant variant = Variant::two_sided;
  std::uint32_t ranks = 2;
  std::uint32_t stages = 0;  ///< 0: as many as ranks.
  std::uint32_t chunks = 1;
  std::uint32_t blocks = 1;  ///< Of a chunk, shared out among the ranks of a stage.
  std::uint64_t block_bytes = 4096;
  Costs costs;  ///< Of a task "block".
};

/// As the example makes it, with one thread in a rank that has no tasks. @throws BadInput
Graph streaming_graph(const Streaming& streaming);

}  // namespace scaling
