// An access to a named space in words. Reports and traces say it alike.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dovetail::trace {

/// Appends "inout 'rank 3' [4, 12)", behind a comma if the text holds something already.
inline void append_access(std::string& text, std::string_view mode, std::string_view space, std::uint64_t begin,
                          std::uint64_t length) {
  text.append(text.empty() ? "" : ", ").append(mode).append(" '").append(space).append("' [");
  text.append(std::to_string(begin)).append(", ").append(std::to_string(begin + length)).append(")");
}

}  // namespace dovetail::trace
