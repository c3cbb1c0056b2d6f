/// @file
/// One configuration, measured: its variants in turn, several rounds, and what follows from the numbers.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "device/curve.hpp"
#include "run.hpp"
#include "settings.hpp"

namespace dovetail::tiom {

/// Measures `point`: prepares the file, then runs each variant once per round. So anything that slows the machine down for a while slows all
/// variants alike. @returns the object that docs/tiom.md describes. `ran` is called after each run.
/// @throws as `run_once` and `prepare_file`; std::runtime_error when verification finds wrong blocks.
nlohmann::json measure_point(const Settings& settings, const Point& point, const std::optional<device::Curve>& curve,
                             const std::function<void()>& ran = {});

/// The cores that this process may use, as many as there are workers at most.
unsigned cores_for(unsigned workers);

}  // namespace dovetail::tiom
