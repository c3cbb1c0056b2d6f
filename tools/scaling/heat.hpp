// The graph of examples/heat with ranks: Gauss-Seidel sweeps over a field whose rows of blocks are divided among the ranks.
#pragma once

#include "graph.hpp"

namespace scaling {

struct Heat {
  Variant variant = Variant::two_sided;
  std::uint32_t ranks = 1;
  std::uint32_t rows = 256;          ///< Of cells.
  std::uint32_t columns = 2048;      ///< Of cells.
  std::uint32_t block_rows = 32;     ///< Of cells.
  std::uint32_t block_columns = 32;  ///< Of cells.
  std::uint32_t steps = 1;
  /// Of a task "update" of a whole block.
  Costs costs;
};

/// As the example makes it, without checkpoints. @throws BadInput
Graph heat_graph(const Heat& heat);

}  // namespace scaling
