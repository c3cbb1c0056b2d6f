// Names of files that contain a zero byte: the operating system would take what stands before it, which is another file.
#pragma once

#include <string>
#include <string_view>

namespace dovetail::base {

inline bool has_zero_byte(std::string_view name) noexcept { return name.find('\0') != std::string_view::npos; }

/// For messages, which would end there too: each zero byte as `\0`.
inline std::string show_zero_bytes(std::string name) {
  for (std::size_t place = name.find('\0'); place != std::string::npos; place = name.find('\0', place)) {
    name.replace(place, 1, "\\0");
  }
  return name;
}

}  // namespace dovetail::base
