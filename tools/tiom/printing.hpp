/// @file
/// The result of one point, for people.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace dovetail::tiom {

/// A table with a line for each variant, and what the model says.
std::string table_of(const nlohmann::json& point_result);

}  // namespace dovetail::tiom
