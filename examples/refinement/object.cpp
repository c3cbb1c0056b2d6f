#include "object.hpp"

#include <algorithm>

namespace refinement {

Object::Object(int radius, int done, int whole) noexcept : radius_(radius * edge_of_domain / 100) {
  // Not along a diagonal: what is symmetric hides mistakes.
  constexpr std::array<std::int64_t, 3> begin{20, 30, 45};  // percent
  constexpr std::array<std::int64_t, 3> end{80, 65, 50};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t way = (end[axis] - begin[axis]) * edge_of_domain / 100;
    center_[axis] = begin[axis] * edge_of_domain / 100 + way * done / std::max(1, whole);
  }
}

bool Object::surface_meets(const Cube& cube) const noexcept {
  const std::int64_t edge = edge_of_domain >> cube.level;
  std::int64_t nearest = 0;  // squares of distances
  std::int64_t farthest = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t low = cube.at[axis] * edge - center_[axis];
    const std::int64_t high = low + edge;
    const std::int64_t least = low > 0 ? low : (high < 0 ? -high : 0);
    const std::int64_t most = std::max(-low, high);
    nearest += least * least;
    farthest += most * most;
  }
  const std::int64_t square = radius_ * radius_;
  return nearest <= square && square <= farthest;
}

Mark mark_of(const Object& object, const Cube& cube, int coarsest, int finest) noexcept {
  if (object.surface_meets(cube)) {
    return cube.level < finest ? Mark::refine : Mark::keep;
  }
  return cube.level > coarsest ? Mark::coarsen : Mark::keep;
}

}  // namespace refinement
