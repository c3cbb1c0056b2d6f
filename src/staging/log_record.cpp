#include "staging/log_record.hpp"

#include <xxhash.h>

#include <bit>
#include <cstring>

namespace dovetail::staging {
namespace {

static_assert(std::endian::native == std::endian::little, "the log is little-endian");

// Bytes that are rare in texts and numbers, so that what looks like a header mostly is one.
constexpr std::uint64_t magic_of_record = 0xd3c94744'4c526ef1;
constexpr std::uint64_t magic_of_segment = 0xd3c94744'4c536ef1;

// As they lie in the file.
struct RecordBytes {
  std::uint64_t magic;
  std::uint32_t kind;
  std::uint32_t unused;
  std::uint64_t sequence;
  std::uint64_t durable;
  std::uint64_t offset;
  std::uint64_t length;
  std::uint64_t data_checksum;
  std::uint64_t checksum;
};
struct SegmentBytes {
  std::uint64_t magic;
  std::uint32_t format;
  std::uint32_t number;
  std::uint64_t log;
  std::uint64_t first_sequence;
  std::uint64_t unused[3];
  std::uint64_t checksum;
};
static_assert(sizeof(RecordBytes) == header_bytes && sizeof(SegmentBytes) == header_bytes);

constexpr std::size_t checked_bytes = header_bytes - sizeof(std::uint64_t);

template <class Bytes>
EncodedHeader sealed(const Bytes& bytes, LogIdentity log) noexcept {
  EncodedHeader encoded;
  std::memcpy(encoded.data(), &bytes, header_bytes);
  const std::uint64_t checksum = checksum_of(std::span(encoded).first(checked_bytes), log);
  std::memcpy(encoded.data() + checked_bytes, &checksum, sizeof checksum);
  return encoded;
}

template <class Bytes>
bool unseal(std::span<const std::byte, header_bytes> encoded, LogIdentity log, Bytes& bytes) noexcept {
  std::memcpy(&bytes, encoded.data(), header_bytes);
  return bytes.checksum == checksum_of(encoded.first(checked_bytes), log);
}

// The checksum says that this library wrote it; a newer one may have written what this one does not know.
bool is_sound(const RecordBytes& bytes) noexcept {
  const bool data = bytes.kind == static_cast<std::uint32_t>(RecordKind::write);
  const bool known = bytes.kind >= 1 && bytes.kind <= static_cast<std::uint32_t>(RecordKind::draining);
  return known && bytes.unused == 0 && bytes.sequence != 0 && bytes.sequence != UINT64_MAX &&
         (data ? bytes.length != 0 && bytes.length <= most_record_bytes : bytes.length == 0) &&
         bytes.offset <= most_file_bytes - bytes.length;
}

}  // namespace

std::uint64_t checksum_of(std::span<const std::byte> data, LogIdentity log) noexcept {
  return XXH3_64bits_withSeed(data.data(), data.size(), log);
}

EncodedHeader encode(const RecordHeader& header, LogIdentity log) noexcept {
  return sealed(RecordBytes{.magic = magic_of_record,
                            .kind = static_cast<std::uint32_t>(header.kind),
                            .unused = 0,
                            .sequence = header.sequence,
                            .durable = header.durable,
                            .offset = header.offset,
                            .length = header.length,
                            .data_checksum = header.data_checksum,
                            .checksum = 0},
                log);
}

EncodedHeader encode(const SegmentHeader& header, LogIdentity log) noexcept {
  return sealed(SegmentBytes{.magic = magic_of_segment,
                             .format = log_format,
                             .number = header.number,
                             .log = log,
                             .first_sequence = header.first_sequence,
                             .unused = {},
                             .checksum = 0},
                log);
}

std::optional<RecordHeader> decode_record(std::span<const std::byte, header_bytes> bytes, LogIdentity log) noexcept {
  RecordBytes read;
  if (!unseal(bytes, log, read) || read.magic != magic_of_record || !is_sound(read)) {
    return std::nullopt;
  }
  return RecordHeader{.kind = static_cast<RecordKind>(read.kind),
                      .sequence = read.sequence,
                      .durable = read.durable,
                      .offset = read.offset,
                      .length = read.length,
                      .data_checksum = read.data_checksum};
}

std::optional<SegmentHeader> decode_segment(std::span<const std::byte, header_bytes> bytes, LogIdentity log) noexcept {
  SegmentBytes read;
  if (!unseal(bytes, log, read) || read.magic != magic_of_segment || read.format != log_format || read.log != log) {
    return std::nullopt;
  }
  return SegmentHeader{.number = read.number, .first_sequence = read.first_sequence};
}

std::array<std::byte, 8> record_magic() noexcept { return std::bit_cast<std::array<std::byte, 8>>(magic_of_record); }

}  // namespace dovetail::staging
