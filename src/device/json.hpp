// Facts and curves as JSON. The names in it are those of the members.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "device/curve.hpp"

namespace dovetail::device {

/// @name As nlohmann::json asks for. `from_json` throws nlohmann::json::exception for what is missing or of another type.
/// @{
void to_json(nlohmann::json& to, const Facts& facts);
void from_json(const nlohmann::json& from, Facts& facts);
void to_json(nlohmann::json& to, const Curve& curve);
void from_json(const nlohmann::json& from, Curve& curve);
/// @}

}  // namespace dovetail::device
