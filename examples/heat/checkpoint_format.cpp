#include "checkpoint_format.hpp"

#include <array>
#include <bit>
#include <cstring>

#include "hash.hpp"

namespace heat {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little endian and written as they are");

constexpr std::array<char, 8> magic{'H', 'E', 'A', 'T', 'C', 'K', 'P', 'T'};
constexpr std::uint32_t version = 1;
constexpr std::uint64_t largest_side = std::uint64_t{1} << 20;

struct RawHeader {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t state;
  std::uint64_t step;
  std::uint64_t rows;
  std::uint64_t columns;
  std::uint64_t block;
  std::uint64_t table_hash;
  std::uint64_t header_hash;  // of the whole page with this field zero
};
static_assert(sizeof(RawHeader) == 64);

std::uint64_t hash_of_page(std::span<const std::byte> source) {
  std::array<std::byte, page> copy{};
  std::memcpy(copy.data(), source.data(), page);
  std::memset(copy.data() + offsetof(RawHeader, header_hash), 0, sizeof(std::uint64_t));
  return hash_bytes(copy);
}

bool plausible(std::uint64_t side) { return side >= 1 && side <= largest_side; }

}  // namespace

FileLayout::FileLayout(const Shape& shape) {
  const std::vector<Block> blocks = layout(shape);
  table_bytes = round_to_page(blocks.size() * sizeof(std::uint64_t));
  data_offset = table_offset + table_bytes;
  total_bytes = data_offset + blocks.back().offset + blocks.back().padded_bytes;
}

void encode_header(const CheckpointInfo& info, std::span<std::byte> target) {
  RawHeader raw{magic,
                version,
                static_cast<std::uint32_t>(info.state),
                info.step,
                info.shape.rows,
                info.shape.columns,
                info.shape.block,
                info.table_hash,
                0};
  std::memset(target.data(), 0, page);
  std::memcpy(target.data(), &raw, sizeof raw);
  raw.header_hash = hash_of_page(target);
  std::memcpy(target.data(), &raw, sizeof raw);
}

DecodedHeader decode_header(std::span<const std::byte> source) {
  if (source.size() < page) {
    return {{}, "cut short: " + std::to_string(source.size()) + " bytes are not even a header"};
  }
  RawHeader raw{};
  std::memcpy(&raw, source.data(), sizeof raw);
  if (raw.magic != magic) {
    return {{}, "not a checkpoint: it does not begin with the right mark"};
  }
  if (raw.header_hash != hash_of_page(source)) {
    return {{}, "damaged: the header does not match its hash"};
  }
  if (raw.version != version) {
    return {
        {},
        "of format version " + std::to_string(raw.version) + "; this program reads version " + std::to_string(version)};
  }
  if (!plausible(raw.rows) || !plausible(raw.columns) || !plausible(raw.block)) {
    return {{}, "damaged: the header gives an impossible shape"};
  }
  return {
      CheckpointInfo{static_cast<State>(raw.state), raw.step, Shape{raw.rows, raw.columns, raw.block}, raw.table_hash},
      {}};
}

}  // namespace heat
