// Whole numbers of files, which must be within bounds.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace scaling {

/// Ranks, workers, cores, ranks of a node.
inline constexpr std::int64_t highest_count = 1'000'000;
/// Cells, blocks and sweeps: two of them can be added in 32 bits.
inline constexpr std::int64_t highest_size = 0x7fff'ffff;
/// A double has each whole number up to it.
inline constexpr std::int64_t highest_bytes = std::int64_t{1} << 53;

/// At most `highest_bytes` away from 0. @throws BadInput, a sentence that begins with `where` and `what`.
std::int64_t whole_number(const nlohmann::json& number, const std::string& where, const std::string& what,
                          std::int64_t lowest, std::int64_t highest);

}  // namespace scaling
