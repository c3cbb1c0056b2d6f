// Descriptions of devices as JSON, for curves and for tools.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "dovetail/device.hpp"

namespace dovetail::storage {

nlohmann::json to_json(const dovetail::Device& device);
nlohmann::json to_json(const DeviceCurve& curve);
/// @throws nlohmann::json::exception for what is missing or of another type.
void from_json(const nlohmann::json& from, dovetail::Device& device);

}  // namespace dovetail::storage
