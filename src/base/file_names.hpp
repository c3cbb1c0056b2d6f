// Groups of files that a configuration names.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace dovetail::base {

/// Patterns, as of fnmatch: of the last part of the path, or of the absolute path where they begin with a slash.
using FileNames = std::vector<std::string>;

/// @throws std::invalid_argument says what is wrong, and where: `place` is that of the value in the file; std::bad_alloc
FileNames file_names_of(const nlohmann::json& value, const std::string& place);

/// @param path absolute
bool matches(const FileNames& names, const std::string& path);

}  // namespace dovetail::base
