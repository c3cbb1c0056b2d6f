// Where the data of a file view are in the file.
#pragma once

#include <cstdint>

#include "layout.hpp"

namespace dovetail::interpose::mpiio {

/// Copies share the tile.
struct FileView {
  std::int64_t displacement = 0;  ///< Of the view, in bytes.
  std::uint64_t unit_bytes = 1;   ///< Of the elementary type: offsets of MPI count these.
  TypeLayout tile{};  ///< The file type, which is repeated without end. No layout: it is not known where its data are.

  bool is_known() const noexcept { return tile.layout != nullptr && unit_bytes != 0; }

  /// The data lie in the file as they are.
  bool is_plain() const noexcept {
    return tile.layout != nullptr && tile.layout->is_run() && static_cast<std::uint64_t>(tile.extent) == tile.bytes;
  }

  /// Calls `found(offset in the file, bytes)` for each run among the `take` bytes of data behind the first `skip` of the view, until it returns
  /// false. Neighbours are one run only within a tile of one run.
  template <class Found>
  bool visit(std::uint64_t skip, std::uint64_t take, const Found& found) const {
    if (take == 0) {
      return true;
    }
    if (is_plain()) {
      return found(displacement + static_cast<std::int64_t>(skip), take);
    }
    std::uint64_t index = skip / tile.bytes;
    skip %= tile.bytes;
    while (take != 0) {
      const std::uint64_t part = std::min(take, tile.bytes - skip);
      if (!tile.layout->visit(displacement + static_cast<std::int64_t>(index) * tile.extent, skip, part, found)) {
        return false;
      }
      take -= part;
      skip = 0;
      ++index;
    }
    return true;
  }
};

}  // namespace dovetail::interpose::mpiio
