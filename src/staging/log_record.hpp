// The form of the log on the local tier: a segment is a header and records one behind the other, a record is a header and its data.
// Numbers are little-endian. What is read back is believed only if its checksum (XXH3, 64 bits) says so.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace dovetail::staging {

/// Chosen at random for each log, and part of every checksum: a record of another log, in a block that a file system gave to this one, is
/// none.
using LogIdentity = std::uint64_t;

inline constexpr std::uint32_t log_format = 1;
/// Of the header of a segment and of a record, in bytes.
inline constexpr std::size_t header_bytes = 64;
/// Most data of one record, in bytes: so much is held in memory to be checked.
inline constexpr std::uint64_t most_record_bytes = std::uint64_t{8} << 20;
/// Offsets and sizes of files end here, as `off_t` does.
inline constexpr std::uint64_t most_file_bytes = INT64_MAX;

enum class RecordKind : std::uint32_t {
  write = 1,     ///< Data of the file.
  truncate = 2,  ///< The file has another size.
  drained = 3,   ///< What earlier records say is durable in the final file.
  synced = 4,    ///< Nothing but that earlier records are durable (`RecordHeader::durable`).
  draining =
      5,  ///< A drain changes the final file, behind its end alone, though earlier records may not be durable. Until it is noted, those bytes do not count.
};

constexpr bool changes_file(RecordKind kind) noexcept {
  return kind == RecordKind::write || kind == RecordKind::truncate;
}

struct RecordHeader {
  RecordKind kind = RecordKind::write;
  std::uint64_t sequence = 0;  ///< From 1 on, each one more than that of the record before.
  std::uint64_t durable =
      0;  ///< When this one was appended, those up to here were durable, in the log or the final file.
  std::uint64_t offset =
      0;  ///< write: of the data in the file, in bytes; truncate: the size; drained: up to this sequence number; draining: the end.
  std::uint64_t length = 0;  ///< Of the data that follow, in bytes.
  std::uint64_t data_checksum = 0;
  bool operator==(const RecordHeader&) const = default;
};

struct SegmentHeader {
  std::uint32_t number = 0;
  std::uint64_t first_sequence = 0;  ///< Of the records that follow.
  bool operator==(const SegmentHeader&) const = default;
};

using EncodedHeader = std::array<std::byte, header_bytes>;

std::uint64_t checksum_of(std::span<const std::byte> data, LogIdentity log) noexcept;
EncodedHeader encode(const RecordHeader& header, LogIdentity log) noexcept;
EncodedHeader encode(const SegmentHeader& header, LogIdentity log) noexcept;
/// Nothing: it is not a header of this log, whole and unchanged. Otherwise the numbers are within their bounds.
std::optional<RecordHeader> decode_record(std::span<const std::byte, header_bytes> bytes, LogIdentity log) noexcept;
std::optional<SegmentHeader> decode_segment(std::span<const std::byte, header_bytes> bytes, LogIdentity log) noexcept;

/// With what the header of each record begins.
std::array<std::byte, 8> record_magic() noexcept;

}  // namespace dovetail::staging
