/// @file
/// The file that is transferred: made once, full of bytes that tell where they belong, and recognised again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "settings.hpp"

namespace dovetail::tiom {

/// Which of the two writers a page of the file is from.
enum class Content : std::uint8_t {
  prepared,  ///< By the preparation of the file.
  written,   ///< By a transfer of a run.
};

/// Offsets, lengths and memory of direct transfers are multiples of this many bytes.
inline constexpr std::size_t page_bytes = 4096;

/// Fills `data`, a whole number of pages, with what belongs at `offset` of the file.
void fill(std::span<std::byte> data, std::uint64_t offset, Content content) noexcept;
/// Whether `data` is what `fill` makes.
bool holds(std::span<const std::byte> data, std::uint64_t offset, Content content) noexcept;

/// Makes `settings.file` exactly as long as `settings.size`, with all blocks allocated. With `settings.verify` every byte becomes as
/// `Content::prepared` says; without, a file that was made before stays as it is.
/// @throws std::invalid_argument for a file that holds something else and may not be overwritten; IoError.
void prepare_file(const Settings& settings);

/// Looks at every block of the file: `written[i]` says whether block i must be as `Content::written`, else as
/// `Content::prepared`. @returns how many blocks are not as they must be. @throws IoError.
std::uint64_t count_wrong_blocks(const Settings& settings, std::uint64_t block, const std::vector<bool>& written);

/// Forgets what the page cache holds of an open file, so that the next reads go to the device. Errors do not matter.
void drop_cache(int descriptor) noexcept;

}  // namespace dovetail::tiom
