#include <nlohmann/json.hpp>

#include "device/json.hpp"
#include "report.hpp"

namespace dovetail::doctor {
namespace {

using nlohmann::json;

json json_of(const Machine& machine) {
  json libraries = json::object();
  for (const auto& [name, version] : machine.libraries) {
    libraries[name] = version;
  }
  json limits = json::object();
  for (const Limit& limit : machine.limits) {
    limits[limit.name] = limit.value == ~std::uint64_t{0} ? json(nullptr) : json(limit.value);
  }
  return {{"kernel", machine.kernel},
          {"libraries", std::move(libraries)},
          {"cores", machine.cores},
          {"processors", machine.processors},
          {"allowed_processors", machine.allowed_processors},
          {"numa_nodes", machine.numa_nodes},
          {"workers", machine.workers},
          {"limits", std::move(limits)}};
}

json json_of(const device::EngineProbe& engine) {
  json features = json::array();
  for (const device::FeatureProbe& feature : engine.features) {
    features.push_back({{"name", feature.name}, {"works", feature.works}, {"why_not", feature.why_not}});
  }
  return {
      {"name", engine.name}, {"works", engine.works}, {"why_not", engine.why_not}, {"features", std::move(features)}};
}

json json_of(const Choice& choice) {
  return {{"engine", choice.engine},
          {"direct", choice.direct},
          {"depth", choice.depth == 0 ? json(nullptr) : json(choice.depth)},
          {"reason", choice.reason}};
}

json json_of(const std::vector<comm::rma::TransportProbe>& transports) {
  json all = json::array();
  for (const comm::rma::TransportProbe& transport : transports) {
    all.push_back({{"name", transport.name},
                   {"works", transport.works},
                   {"why_not", transport.why_not},
                   {"where", transport.where}});
  }
  const comm::rma::TransportProbe& first = transports.front();
  return {{"transport", first.works ? json(first.name) : json(nullptr)}, {"transports", std::move(all)}};
}

json json_of(const std::optional<Curve>& curve) { return curve ? json(*curve) : json(nullptr); }

}  // namespace

json to_json(const Report& report) {
  json engines = json::array();
  for (const device::EngineProbe& engine : report.engines) {
    engines.push_back(json_of(engine));
  }
  json devices = json::array();
  for (const CheckedDevice& checked : report.devices) {
    devices.push_back({{"device", json(checked.device)},
                       {"curve", json_of(checked.curve)},
                       {"buffered", json_of(checked.cached)},
                       {"why_not_measured", checked.why_not_measured},
                       {"choice", {{"read", json_of(checked.reading)}, {"write", json_of(checked.writing)}}}});
  }
  return {{"machine", json_of(report.machine)},
          {"engines", std::move(engines)},
          {"engine", {{"name", report.engine}, {"reason", report.engine_reason}}},
          {"one_sided", json_of(report.transports)},
          {"devices", std::move(devices)}};
}

}  // namespace dovetail::doctor
