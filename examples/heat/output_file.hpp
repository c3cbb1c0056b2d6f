/// @file
/// Files of text that a run leaves, such as its report.
#pragma once

#include <string>

namespace heat {

/// Finds out before the computation, not after it. `path` may be empty: there is none. @throws BadInput naming the option.
void require_writable(const std::string& option, const std::string& path);
/// @throws std::system_error
void write_text(const std::string& path, const std::string& text);

}  // namespace heat
