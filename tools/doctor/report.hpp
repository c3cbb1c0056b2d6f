// All that the doctor found out.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "choice.hpp"
#include "comm/rma/probe.hpp"
#include "device/engine_probe.hpp"
#include "machine.hpp"
#include "options.hpp"

namespace dovetail::doctor {

struct CheckedDevice {
  Facts device;
  std::optional<Curve> curve;
  std::optional<Curve> cached;  // Through the page cache, at the chosen depth only.
  std::string why_not_measured;
  bool failed = false;  // It should have been measured, and could not.
  Choice reading;
  Choice writing;
};

struct Report {
  Machine machine;
  std::vector<device::EngineProbe> engines;
  std::string engine;  // The one that Dovetail prefers here.
  std::string engine_reason;
  std::vector<comm::rma::TransportProbe>
      transports;  // Of one-sided communication. The first is that of what is allocated.
  std::vector<CheckedDevice> devices;
};

/// Looks at everything; shows how far it is on standard error while it measures.
Report examine(const DoctorOptions& options);

nlohmann::json to_json(const Report& report);
void print(const Report& report);

}  // namespace dovetail::doctor
