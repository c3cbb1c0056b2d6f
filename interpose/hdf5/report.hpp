// What DOVETAIL_HDF5_REPORT=1 prints at the end.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/overlap.hpp"
#include "compression/chunk.hpp"
#include "prefetch/read_ahead.hpp"
#include "staging/stage.hpp"

namespace dovetail::hdf5 {

/// Why the program waited for transfers.
enum class Cause : std::uint8_t { flush, readers, answer, close, truncate, request, exit };
inline constexpr std::size_t causes = 7;

/// Times in nanoseconds. For the thread that is in HDF5.
struct Report {
  std::array<std::uint64_t, causes> waited{};

  std::uint64_t& of(Cause cause) noexcept { return waited[static_cast<std::size_t>(cause)]; }
  void print(base::Overlap::Times overlap, const staging::Statistics& staged, const prefetching::Statistics& ahead,
             const compression::Statistics& compressed) const;
};

}  // namespace dovetail::hdf5
