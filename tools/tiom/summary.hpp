/// @file
/// What a sweep says as a whole.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "curves.hpp"
#include "results.hpp"

namespace dovetail::tiom {

/// The variants of Dovetail that were slower than the point's baseline by more than the runs of either differ, and by more than `noise`.
std::vector<std::string> slower_variants(const nlohmann::json& point_result, double noise);

/// The summary of what there is so far; docs/tiom.md names its fields. Where a point was measured again, only that counts.
nlohmann::json summarise(const ResultFolder& folder, const Curves& curves);

/// The same for people.
std::string summary_text(const nlohmann::json& summary);

/// "mix rw 128K 1 ms 4 series".
std::string point_text(const nlohmann::json& point);

}  // namespace dovetail::tiom
