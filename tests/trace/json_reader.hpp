// Reads JSON strictly, to tell whether what was written is JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace dovetail::trace::test {

/// Reads a whole text. Throws std::runtime_error that says where it is not JSON, or not UTF-8, or has a key twice.
nlohmann::json read_json(std::string_view text);
/// Reads a file.
nlohmann::json read_json_file(const std::string& path);

}  // namespace dovetail::trace::test
