// How numbers of 64 bits stand in texts and names: with all their digits, so that all are of one length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

namespace dovetail::staging {

inline constexpr std::size_t hexadecimal_digits = 16;

inline std::string hexadecimal(std::uint64_t value) {
  char digits[hexadecimal_digits + 1];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(value));
  return digits;
}

}  // namespace dovetail::staging
