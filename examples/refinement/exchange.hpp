/// @file
/// The faces that one rank exchanges with others before each stage, and what a stage does with them. All variants compute by this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dovetail/access.hpp"
#include "faces.hpp"
#include "field.hpp"
#include "tree.hpp"

namespace refinement {

/// A face that comes from another rank or goes to one.
struct FaceMessage {
  Face face;
  int rank = 0;           ///< The other one.
  int number = 0;         ///< Among those from the one rank to the other, from 0: both count alike.
  std::size_t block = 0;  ///< Of this rank.

  /// Faces of two stages in a row may be under way at once.
  int tag(int stage) const noexcept { return 2 * number + stage % 2; }
};

/// Which faces a rank exchanges, as long as the tree is the same. Its blocks are counted from 0 within the rank, messages in the order of the
/// lists. Constant: may be used by several threads.
class Exchange {
 public:
  /// Where block `face.to` gets a face from.
  struct Source {
    Face face;
    bool is_here = false;   ///< Whether this rank has block `face.from`.
    std::size_t place = 0;  ///< That of the block within the rank, or that of the message in `arrivals`.
  };

  Exchange(const Tree& tree, const Shares& shares, int rank);

  std::size_t blocks() const noexcept { return sources_.size(); }
  std::span<const Source> sources(std::size_t block) const noexcept { return sources_[block]; }
  /// Faces that come. Those for one block follow each other.
  std::span<const FaceMessage> arrivals() const noexcept { return arrivals_; }
  std::span<const FaceMessage> departures() const noexcept { return departures_; }
  /// The places in `arrivals` of the faces for a block, and in `departures` of those that it sends.
  std::span<const std::size_t> arrivals_of(std::size_t block) const noexcept { return arrivals_of_[block]; }
  std::span<const std::size_t> departures_of(std::size_t block) const noexcept { return departures_of_[block]; }
  /// The highest tag that its messages have, or -1.
  int highest_tag() const noexcept;

 private:
  std::vector<std::vector<Source>> sources_;
  std::vector<FaceMessage> arrivals_;
  std::vector<FaceMessage> departures_;
  std::vector<std::vector<std::size_t>> arrivals_of_;
  std::vector<std::vector<std::size_t>> departures_of_;
};

/// Memory for messages, each of which has a place for even stages and one for odd stages behind it.
class FaceBuffers {
 public:
  FaceBuffers() = default;
  FaceBuffers(const FaceBuffers&) = delete;
  FaceBuffers& operator=(const FaceBuffers&) = delete;
  FaceBuffers(FaceBuffers&&) = default;
  FaceBuffers& operator=(FaceBuffers&&) = default;
  ~FaceBuffers() = default;
  /// Memory of its own.
  FaceBuffers(std::span<const FaceMessage> messages, const Shape& shape);
  /// In `memory`, of `values(messages, shape)` numbers, which lives longer.
  FaceBuffers(std::span<const FaceMessage> messages, const Shape& shape, std::span<double> memory);
  /// Numbers that it needs.
  static std::size_t values(std::span<const FaceMessage> messages, const Shape& shape) noexcept;

  std::span<double> at(int stage, std::size_t message) const noexcept {
    const std::size_t length = (begins_[message + 1] - begins_[message]) / 2;
    return memory_.subspan(begins_[message] + static_cast<std::size_t>(stage) % 2 * length, length);
  }
  /// From the beginning of the memory to the place for even stages, in numbers.
  std::size_t begin(std::size_t message) const noexcept { return begins_[message]; }

 private:
  std::vector<double> own_;
  std::span<double> memory_;
  std::vector<std::size_t> begins_;
};

/// Takes the face of a departure out of its block as it is before the stage.
void pack(Field& field, const FaceMessage& departure, int stage, std::span<double> message) noexcept;
/// One stage of one block. What it reads of other ranks is in `arrived`.
void update(Field& field, const Exchange& exchange, const FaceBuffers& arrived, int stage, std::size_t block) noexcept;
/// What `update` reads and writes of the field.
std::vector<dovetail::Access> accesses_of_update(Field& field, const Exchange& exchange, int stage, std::size_t block);

}  // namespace refinement
