#pragma once

#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

namespace dovetail::devices {

/// The errno that a name ("EIO") or a positive number ("5") stands for; empty for anything else.
inline std::optional<int> parse_errno(const std::string& text) {
  constexpr int largest = 4095;  // the kernel's MAX_ERRNO
  char* end = nullptr;
  const long number = std::strtol(text.c_str(), &end, 10);
  if (!text.empty() && *end == '\0') {
    return number > 0 && number <= largest ? std::optional(static_cast<int>(number)) : std::nullopt;
  }
  for (int candidate = 1; candidate <= largest; ++candidate) {
    const char* name = strerrorname_np(candidate);
    if (name != nullptr && text == name) {
      return candidate;
    }
  }
  return std::nullopt;
}

}  // namespace dovetail::devices
