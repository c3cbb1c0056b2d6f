/// @file
/// What a checkpoint looks like on disk:
///
///     offset 0       header: one page, written last; its `complete` mark is what makes the rest valid
///     offset 4096    table: a 64-bit hash of each block, padded to a page
///     then           the blocks in the order of `layout`, each padded to a page
///
/// Everything is little endian. The header carries a hash of itself and of the table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "field.hpp"

namespace heat {

/// Whether the data behind a header can be relied on.
enum class State : std::uint32_t { being_written = 0, complete = 1, unused = 2 };

/// What a header says.
struct CheckpointInfo {
  State state = State::being_written;
  std::uint64_t step = 0;  ///< Sweeps that the field has seen.
  Shape shape;
  std::uint64_t table_hash = 0;
};

/// Places in a checkpoint of one shape, in bytes.
struct FileLayout {
  explicit FileLayout(const Shape& shape);
  std::uint64_t table_offset = page;
  std::uint64_t table_bytes = 0;
  std::uint64_t data_offset = 0;
  std::uint64_t total_bytes = 0;
};

/// Fills one page.
void encode_header(const CheckpointInfo& info, std::span<std::byte> target);

/// Either what the header says or, in `reason`, why it says nothing.
struct DecodedHeader {
  std::optional<CheckpointInfo> info;
  std::string reason;
};

/// Reads the first page of a file (fewer bytes if the file is shorter). The state is not judged.
DecodedHeader decode_header(std::span<const std::byte> source);

}  // namespace heat
