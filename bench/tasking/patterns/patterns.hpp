// The problem: METG(50 %) of the dependence patterns of table I in E. Slaughter et al.: "Task Bench: A Parameterized Benchmark for Evaluating
// Parallel Runtime Performance" (SC 2020, DOI 10.1109/SC41405.2020.00066). In each step every point is made from some points of the step
// before. Every cell is an address of its own, so that there are only true dependences.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "harness/harness.hpp"

namespace bench {

class Pattern {
 public:
  using Cell = std::uint64_t;

  inline static const std::vector<std::string> names{
      "stencil", "stencil_periodic", "trivial", "no_comm", "dom",           "tree",
      "fft",     "all_to_all",       "nearest", "spread",  "random_nearest"};

  Pattern(const std::string& name, std::int64_t steps, std::int64_t width) : width_(width) {
    for (std::int64_t step = 0; step < steps; ++step) {
      for (std::int64_t point = 0; point < width; ++point) {
        first_.push_back(sources_.size());
        if (step > 0) add_sources(name, step, point);
      }
    }
    first_.push_back(sources_.size());
    cells_.resize(static_cast<std::size_t>(steps * width));
  }

  [[nodiscard]] std::size_t places() const noexcept { return cells_.size(); }
  [[nodiscard]] Cell& cell(std::size_t place) noexcept { return cells_[place]; }
  /// The places from which that one is made.
  [[nodiscard]] std::span<const std::size_t> sources(std::size_t place) const noexcept {
    return std::span(sources_).subspan(first_[place], first_[place + 1] - first_[place]);
  }
  /// Makes one cell from its sources.
  void compute(std::size_t place) noexcept { compute_in(cells_, place); }

  [[nodiscard]] Problem timed(std::function<void()> run) {
    return {.operations = static_cast<std::int64_t>(places()),
            .prepare = [this] { std::ranges::fill(cells_, 0); },
            .run = std::move(run),
            .check =
                [this] {
                  std::vector<Cell> expected(cells_.size());
                  for (std::size_t place = 0; place < expected.size(); ++place) compute_in(expected, place);
                  return expected == cells_ ? std::string{}
                                            : std::string("the cells differ from those computed in order");
                }};
  }

 private:
  [[nodiscard]] std::size_t place(std::int64_t step, std::int64_t point) const noexcept {
    return static_cast<std::size_t>(step * width_ + point);
  }

  void compute_in(std::vector<Cell>& cells, std::size_t place) const noexcept {
    Cell value = place + 1;
    for (const std::size_t source : sources(place)) value = value * 31 + cells[source];
    cells[place] = value;
  }

  void add_range(std::int64_t step, std::int64_t lowest, std::int64_t highest) {
    for (std::int64_t point = std::max<std::int64_t>(lowest, 0); point <= std::min(highest, width_ - 1); ++point) {
      add(step, point);
    }
  }
  // Once, also where two rules name it.
  void add(std::int64_t step, std::int64_t point) {
    const std::size_t source = place(step - 1, point);
    if (std::find(sources_.begin() + static_cast<std::ptrdiff_t>(first_.back()), sources_.end(), source) ==
        sources_.end()) {
      sources_.push_back(source);
    }
  }

  void add_sources(const std::string& name, std::int64_t step, std::int64_t point) {
    constexpr std::int64_t radix = 5;
    if (name == "no_comm") {
      add(step, point);
    } else if (name == "stencil") {
      add_range(step, point - 1, point + 1);
    } else if (name == "stencil_periodic") {
      for (const std::int64_t distance : {width_ - 1, std::int64_t{0}, std::int64_t{1}})
        add(step, (point + distance) % width_);
    } else if (name == "dom") {
      add_range(step, point - 1, point);
    } else if (name == "tree") {
      add(step, step < 63 && (std::int64_t{1} << step) <= width_ ? point / 2 : point);
    } else if (name == "fft") {
      std::int64_t levels = 1;
      while (std::int64_t{1} << levels < width_) ++levels;
      const std::int64_t distance = std::int64_t{1} << ((step - 1) % levels);
      for (const std::int64_t other : {point - distance, point, point + distance}) add_range(step, other, other);
    } else if (name == "all_to_all") {
      add_range(step, 0, width_ - 1);
    } else if (name == "nearest") {
      add_range(step, point - radix / 2, point + radix / 2);
    } else if (name == "spread") {
      for (std::int64_t i = 0; i < radix; ++i) {
        add(step, (point + i * width_ / radix + (i > 0 ? step - 1 : 0)) % width_);
      }
    } else if (name == "random_nearest") {
      add(step, point);
      for (std::int64_t distance = -(radix / 2); distance <= radix / 2; ++distance) {
        // A third of the neighbours, always the same ones.
        const auto mixed =
            static_cast<std::uint64_t>((step * width_ + point) * 16 + distance + 8) * 0x9e3779b97f4a7c15U;
        if (mixed % 3 == 0) add_range(step, point + distance, point + distance);
      }
    }
  }

  std::int64_t width_;
  std::vector<std::size_t> first_;  ///< Of each place, in `sources_`.
  std::vector<std::size_t> sources_;
  std::vector<Cell> cells_;
};

}  // namespace bench
