// The attributes of a final file that say how it is staged.
#pragma once

#include <string_view>

namespace dovetail::interpose::staged {

/// Whether it is the name of one.
inline bool is_mark(const char* attribute) noexcept {
  return attribute != nullptr && std::string_view(attribute).starts_with("user.dovetail.");
}

}  // namespace dovetail::interpose::staged
