// The graph of examples/refinement: blocks of a mesh that follows a sphere, which exchange faces with those beside them.
#pragma once

#include <cstdint>
#include <string>

#include "graph.hpp"

namespace scaling {

/// What the example does on one mesh, and what it does when the mesh changes. All ranks wait for each other between them.
enum class RefinementPart : std::uint8_t {
  stages,     ///< Of a turn.
  moves,      ///< Pieces of blocks go to the ranks that have them in the next turn.
  agreement,  ///< Each rank tells those beside it where it keeps the faces that they write.
};
/// @throws BadInput
RefinementPart part_of(const std::string& name);

struct Refinement {
  Variant variant = Variant::two_sided;
  std::uint32_t ranks = 1;
  std::uint32_t edge = 8;       ///< Of a block, in cells.
  std::uint32_t variables = 4;  ///< Of a cell.
  int coarsest = 2;             ///< Levels of blocks.
  int finest = 4;
  int radius = 20;                ///< Of the sphere, in percent of the edge of the domain.
  std::uint32_t refinements = 5;  ///< How often the mesh follows it.
  std::uint32_t turn = 0;         ///< How often it has done so: which mesh the graph is of.
  std::uint32_t stages = 20;      ///< Of the turn.
  RefinementPart part = RefinementPart::stages;
  /// Of tasks "update" and "add up" of a block, and of "face", which takes the face of a whole side out of a block; for moves of "piece", which copies
  /// a block.
  Costs costs;
};

/// As the example makes it, with one thread in a rank that has no tasks. Which rank has which block, and which faces go where, is what the example's
/// own library says. @throws BadInput
Graph refinement_graph(const Refinement& refinement);
/// How many blocks all ranks have in the turn. @throws BadInput
std::uint64_t blocks_of(const Refinement& refinement);

}  // namespace scaling
