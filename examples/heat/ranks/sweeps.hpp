/// @file
/// What all variants do with a block, and the time that it takes until the last one is done.
#pragma once

#include <atomic>
#include <cstdint>

#include "field.hpp"
#include "kernel.hpp"
#include "meter.hpp"
#include "progress.hpp"

namespace heat {

/// Updates blocks of a rank's part, and counts them. From any thread.
class Sweeps {
 public:
  /// `updates`: how many there will be.
  Sweeps(Field& field, Meter& meter, Progress& progress, std::uint64_t updates);

  Field& field() const noexcept { return field_; }
  /// Updates a block, `beside` being the rows of cells above and below this part.
  void update(const Block& block, const Beside& beside);
  /// The first row of cells of the part, or its last one, as far as the block has it.
  std::span<double> first_row(const Block& block) const noexcept;
  std::span<double> last_row(const Block& block) const noexcept;
  /// From the making of this object until the last update has ended, in seconds.
  double seconds() const noexcept;

 private:
  Field& field_;
  Meter& meter_;
  Progress& progress_;
  std::atomic<std::uint64_t> left_;
  Meter::Clock::time_point begun_;
  Meter::Clock::time_point ended_;
};

}  // namespace heat
