#include "tree.hpp"

#include <algorithm>

namespace refinement {
namespace {

// The levels that the blocks are to have: as little above what the marks want as the rules of the tree allow.
std::vector<int> levels_wanted(const Tree& tree, std::span<const Mark> marks) {
  std::vector<int> wanted(tree.size());
  for (std::size_t block = 0; block < tree.size(); ++block) {
    wanted[block] = tree.cube(block).level + static_cast<int>(marks[block]);
  }
  const auto raise = [&wanted](std::size_t block, int level) {
    const bool is_news = wanted[block] < level;
    wanted[block] = std::max(wanted[block], level);
    return is_news;
  };
  // Levels only rise, and each rule raises one more when others rise: there is one end, whatever the order.
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (std::size_t block = 0; block < tree.size(); ++block) {
      const Cube& cube = tree.cube(block);
      for (const Side side : all_sides) {
        const Neighbours others = tree.beside(block, side);
        for (std::uint8_t i = 0; i < others.count; ++i) {
          has_changed |= raise(block, wanted[others.blocks[i]] - 1);
        }
      }
      for (unsigned octant = 0; wanted[block] < cube.level && octant < 8; ++octant) {
        const std::optional<std::uint32_t> sibling = tree.find(cube.parent().child(octant));
        if (!sibling || wanted[*sibling] >= cube.level) {
          has_changed |= raise(block, cube.level);
        }
      }
    }
  }
  return wanted;
}

}  // namespace

Cube Cube::parent() const noexcept {
  return {static_cast<std::uint8_t>(level - 1),
          {static_cast<std::uint16_t>(at[0] / 2), static_cast<std::uint16_t>(at[1] / 2),
           static_cast<std::uint16_t>(at[2] / 2)}};
}

Cube Cube::child(unsigned octant) const noexcept {
  Cube made{static_cast<std::uint8_t>(level + 1), {}};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    made.at[axis] = static_cast<std::uint16_t>(2 * at[axis] + ((octant >> axis) & 1U));
  }
  return made;
}

unsigned Cube::octant() const noexcept { return (at[0] & 1U) | (at[1] & 1U) << 1U | (at[2] & 1U) << 2U; }

std::optional<Cube> Cube::beside(Side side) const noexcept {
  Cube other = *this;
  std::uint16_t& place = other.at[axis_of(side)];
  if (place == (is_upper(side) ? (1U << level) - 1 : 0U)) {
    return std::nullopt;
  }
  place = static_cast<std::uint16_t>(is_upper(side) ? place + 1 : place - 1);
  return other;
}

std::uint64_t Cube::code() const noexcept {
  std::uint64_t curve = 0;
  for (int bit = level - 1; bit >= 0; --bit) {
    for (std::size_t axis = 3; axis-- > 0;) {
      curve = curve << 1U | (static_cast<unsigned>(at[axis]) >> static_cast<unsigned>(bit) & 1U);
    }
  }
  return curve << static_cast<unsigned>(3 * (deepest - level)) << 4U | level;
}

Tree::Tree(int level) {
  const auto count = std::size_t{1} << static_cast<unsigned>(3 * level);
  for (std::size_t place = 0; place < count; ++place) {
    Cube cube;
    for (int bit = level - 1; bit >= 0; --bit) {
      cube = cube.child(static_cast<unsigned>(place >> static_cast<unsigned>(3 * bit)) & 7U);
    }
    append(cube);
  }
}

void Tree::append(const Cube& cube) {
  cubes_.push_back(cube);
  codes_.push_back(cube.code());
}

std::optional<std::uint32_t> Tree::find(const Cube& cube) const noexcept {
  const std::uint64_t code = cube.code();
  const auto at = std::lower_bound(codes_.begin(), codes_.end(), code);
  if (at == codes_.end() || *at != code) {
    return std::nullopt;
  }
  return static_cast<std::uint32_t>(at - codes_.begin());
}

Neighbours Tree::beside(std::size_t block, Side side) const noexcept {
  const std::optional<Cube> other = cubes_[block].beside(side);
  if (!other) {
    return {};
  }
  if (const std::optional<std::uint32_t> same = find(*other)) {
    return {Relation::same, 1, {*same}};
  }
  if (const std::optional<std::uint32_t> coarser = other->level > 0 ? find(other->parent()) : std::nullopt) {
    return {Relation::coarser, 1, {*coarser}};
  }
  Neighbours finer{Relation::finer, 4, {}};
  const std::array<std::size_t, 2> along = axes_along(side);
  for (unsigned quarter = 0; quarter < 4; ++quarter) {
    const unsigned across = is_upper(side) ? 0U : 1U;  // the children that are nearest to this block
    const unsigned octant = across << axis_of(side) | (quarter & 1U) << along[0] | (quarter >> 1U) << along[1];
    finer.blocks[quarter] = *find(other->child(octant));
  }
  return finer;
}

Tree Tree::refined(std::span<const Mark> marks) const {
  const std::vector<int> wanted = levels_wanted(*this, marks);
  Tree made;
  for (std::size_t block = 0; block < size(); ++block) {
    const Cube& old = cubes_[block];
    if (wanted[block] > old.level) {
      for (unsigned octant = 0; octant < 8; ++octant) {
        made.append(old.child(octant));
      }
    } else if (wanted[block] == old.level) {
      made.append(old);
    } else if (old.octant() == 0) {
      made.append(old.parent());
    }
  }
  return made;
}

}  // namespace refinement
