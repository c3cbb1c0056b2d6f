// The problem: a ring of points. Each step makes a new generation of them from the old one. Two generations are kept, so that every address is
// written again and again. One task a point and step: three reads, one write.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "harness/harness.hpp"

namespace bench {

inline constexpr std::int64_t default_stencil_steps = 1000;
inline constexpr std::int64_t default_stencil_points = 1000;

class Stencil {
 public:
  using Cell = std::uint64_t;

  Stencil(std::int64_t steps, std::int64_t points) : steps_(steps), points_(points) {
    for (auto& generation : generations_) generation.resize(static_cast<std::size_t>(points));
    first_generation(generations_[0]);
  }

  /// The point's value after `step` steps; step 0 is the start. Points wrap around.
  [[nodiscard]] Cell& cell(std::int64_t step, std::int64_t point) noexcept {
    const std::int64_t wrapped = point < 0 ? point + points_ : point >= points_ ? point - points_ : point;
    return generations_[static_cast<std::size_t>(step % 2)][static_cast<std::size_t>(wrapped)];
  }

  static void compute(Cell& next, const Cell& left, const Cell& middle, const Cell& right) noexcept {
    next = left + 3 * middle + 5 * right;
  }

  [[nodiscard]] Problem timed(std::function<void()> run) {
    return {.operations = steps_ * points_,
            .prepare = [this] { first_generation(generations_[0]); },
            .run = std::move(run),
            .check =
                [this] {
                  if (generations_[static_cast<std::size_t>(steps_ % 2)] == expected()) return std::string{};
                  return std::string("the last generation differs from the one computed in order");
                }};
  }

 private:
  static void first_generation(std::vector<Cell>& points) {
    for (std::size_t point = 0; point < points.size(); ++point) points[point] = point * point + 1;
  }

  [[nodiscard]] std::vector<Cell> expected() const {
    std::vector<Cell> old(static_cast<std::size_t>(points_));
    std::vector<Cell> next(old.size());
    first_generation(old);
    for (std::int64_t step = 0; step < steps_; ++step) {
      for (std::size_t point = 0; point < old.size(); ++point) {
        const std::size_t left = point == 0 ? old.size() - 1 : point - 1;
        const std::size_t right = point + 1 == old.size() ? 0 : point + 1;
        compute(next[point], old[left], old[point], old[right]);
      }
      old.swap(next);
    }
    return old;
  }

  std::int64_t steps_;
  std::int64_t points_;
  std::array<std::vector<Cell>, 2> generations_;
};

}  // namespace bench
