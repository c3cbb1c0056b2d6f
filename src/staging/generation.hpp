// Which opening of a final file its logs are of.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "staging/hexadecimal.hpp"

namespace dovetail::staging {

/// Taken by each opening for writing, and kept by the file and by each log. A log of another generation than its file's has been superseded: what
/// it holds is older than what the file has got since.
struct Generation {
  std::uint64_t job = 0;      ///< Of processes that write the file together; 0: of one process alone.
  std::uint64_t opening = 0;  ///< Chosen at random. 0: none was taken.

  bool is_none() const noexcept { return opening == 0; }
  bool operator==(const Generation&) const = default;
};

constexpr std::size_t generation_bytes = 2 * hexadecimal_digits + 1;

/// `generation_bytes` characters, without a space.
inline std::string text_of(const Generation& generation) {
  return hexadecimal(generation.job) + '-' + hexadecimal(generation.opening);
}

/// Nothing: it is none.
inline std::optional<Generation> generation_of(std::string_view text) {
  constexpr std::size_t digits = hexadecimal_digits;
  Generation result;
  if (text.size() != generation_bytes || text[digits] != '-') {
    return std::nullopt;
  }
  const auto read = [&](std::size_t at, std::uint64_t& number) {
    const char* const end = text.data() + at + digits;
    const auto [stopped, error] = std::from_chars(text.data() + at, end, number, 16);
    return error == std::errc() && stopped == end;
  };
  return read(0, result.job) && read(digits + 1, result.opening) ? std::optional(result) : std::nullopt;
}

}  // namespace dovetail::staging
