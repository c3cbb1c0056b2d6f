/// @file
/// What moves through the domain: a sphere. Near its surface the mesh is to be fine.
#pragma once

#include <array>
#include <cstdint>

#include "tree.hpp"

namespace refinement {

/// All lengths are whole numbers, so that ranks and compilers cannot differ about what is near.
class Object {
 public:
  /// Lengths in this unit: the edge of the domain has so many.
  static constexpr std::int64_t edge_of_domain = std::int64_t{1} << 20;

  /// On its way from one corner of the domain towards another: at `done` of `whole` parts of it. `radius`: in percent of the edge of the domain.
  Object(int radius, int done, int whole) noexcept;
  /// Whether its surface goes through the cube, or touches it.
  bool surface_meets(const Cube& cube) const noexcept;

 private:
  std::int64_t radius_;
  std::array<std::int64_t, 3> center_;
};

/// What the object wants of a cube: finer up to level `finest` at its surface, coarser down to level `coarsest` elsewhere.
Mark mark_of(const Object& object, const Cube& cube, int coarsest, int finest) noexcept;

}  // namespace refinement
