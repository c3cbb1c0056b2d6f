// Where bytes of the file are in its log.
#pragma once

#include <algorithm>
#include <cstdint>

#include "staging/log_record.hpp"

namespace dovetail::staging {

/// In the data of a record, or of records of one length that lie one behind the other in their segment. The last of them may be shorter. So small
/// writes from front to back are one extent of the index, although there is a header between each two.
struct LogPlace {
  std::uint32_t segment = 0;   ///< Its number.
  std::uint32_t position = 0;  ///< In the segment, of the data of the first record.
  std::uint32_t length = 0;    ///< Of the data of each record.
  std::uint32_t skipped = 0;   ///< Data before the byte that is meant.

  bool operator==(const LogPlace&) const = default;

  LogPlace behind(std::uint64_t bytes) const noexcept {
    return {segment, position, length, skipped + static_cast<std::uint32_t>(bytes)};
  }
  bool continues(std::uint64_t bytes, const LogPlace& next, std::uint64_t next_bytes) const noexcept {
    return next.segment == segment && next.skipped == 0 && next_bytes <= length && (skipped + bytes) % length == 0 &&
           next.position == behind(bytes).byte_position();
  }
  /// In the segment, of the byte that is meant.
  std::uint64_t byte_position() const noexcept {
    return position + std::uint64_t{skipped} / length * (length + header_bytes) + skipped % length;
  }
  /// How many of `bytes` bytes from here on lie together.
  std::uint64_t together(std::uint64_t bytes) const noexcept {
    return std::min<std::uint64_t>(bytes, length - skipped % length);
  }
};

}  // namespace dovetail::staging
