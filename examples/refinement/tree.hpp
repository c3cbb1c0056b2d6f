/// @file
/// The mesh: which blocks there are, which of them are beside each other, and which rank has which. All ranks know the same tree, 16 bytes for each
/// block; the values of a block are with its rank alone (field.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace refinement {

/// The six sides of a cube. Two for each axis, the lower one first.
enum class Side : std::uint8_t { left, right, front, back, bottom, top };
inline constexpr std::array all_sides{Side::left, Side::right, Side::front, Side::back, Side::bottom, Side::top};
/// 0, 1 or 2: x, y or z.
constexpr std::size_t axis_of(Side side) noexcept { return static_cast<std::size_t>(side) / 2; }
constexpr bool is_upper(Side side) noexcept { return static_cast<std::size_t>(side) % 2 == 1; }
constexpr Side opposite(Side side) noexcept { return static_cast<Side>(static_cast<std::size_t>(side) ^ 1U); }
/// The two axes along a side, the lower one first.
constexpr std::array<std::size_t, 2> axes_along(Side side) noexcept {
  return {axis_of(side) == 0 ? std::size_t{1} : std::size_t{0}, axis_of(side) == 2 ? std::size_t{1} : std::size_t{2}};
}

/// A cube of the octree. One of level 0 is the whole domain; its 8 children halve it along each axis.
struct Cube {
  static constexpr int deepest = 10;

  std::uint8_t level = 0;
  std::array<std::uint16_t, 3> at{};  ///< Its place along each axis, in edges of a cube of this level.

  Cube parent() const noexcept;
  /// `octant`: 0 to 7, a bit for each axis, that of x the lowest.
  Cube child(unsigned octant) const noexcept;
  /// Which child of its parent it is.
  unsigned octant() const noexcept;
  /// The cube of the same level there, if that is within the domain.
  std::optional<Cube> beside(Side side) const noexcept;
  /// A number that says all of it. In its order the cubes that cover the domain are on a Z-curve, so children of one parent follow each other.
  std::uint64_t code() const noexcept;
};

/// What the size of one block is to that of another.
enum class Relation : std::uint8_t { same, coarser, finer };

/// The blocks behind one side of a block. `count` is 0 at the border of the domain, 4 if they are finer, else 1.
struct Neighbours {
  Relation relation = Relation::same;
  std::uint8_t count = 0;
  std::array<std::uint32_t, 4> blocks{};
};

/// What is to become of a block.
enum class Mark : std::int8_t { coarsen = -1, keep = 0, refine = 1 };

/// The cubes that cover the domain, in the order of their codes. They are the blocks, and a block is named by its place among them. Blocks with a
/// common face differ by one level at most.
class Tree {
 public:
  /// All cubes of one level, 0 to `Cube::deepest`.
  explicit Tree(int level);
  std::size_t size() const noexcept { return cubes_.size(); }
  const Cube& cube(std::size_t block) const noexcept { return cubes_[block]; }
  std::optional<std::uint32_t> find(const Cube& cube) const noexcept;
  Neighbours beside(std::size_t block, Side side) const noexcept;
  /// The tree with each block as its mark wants it, where that can be. More blocks are refined than have the mark, and fewer coarsened, so that
  /// neighbours differ by one level at most; 8 children are coarsened together. It depends on nothing but the marks.
  Tree refined(std::span<const Mark> marks) const;

 private:
  Tree() = default;
  void append(const Cube& cube);

  std::vector<Cube> cubes_;
  std::vector<std::uint64_t> codes_;
};

/// How many blocks each rank has: it has the next ones of the tree's order, and all have as many, or one more. So what is near is on few ranks.
class Shares {
 public:
  Shares(std::size_t blocks, int ranks) noexcept : blocks_(blocks), ranks_(static_cast<std::size_t>(ranks)) {}
  /// The first block of a rank; for `rank` = the number of ranks, how many blocks there are.
  std::size_t first(int rank) const noexcept { return blocks_ * static_cast<std::size_t>(rank) / ranks_; }
  std::size_t count(int rank) const noexcept { return first(rank + 1) - first(rank); }
  int owner(std::size_t block) const noexcept { return static_cast<int>(((block + 1) * ranks_ - 1) / blocks_); }
  int ranks() const noexcept { return static_cast<int>(ranks_); }

 private:
  std::size_t blocks_;
  std::size_t ranks_;
};

}  // namespace refinement
