#include "machine.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>
#include <type_traits>

#include "whole_number.hpp"

namespace scaling {
namespace {

using Json = nlohmann::json;

struct Place {
  std::function<void(double)> set;
  bool is_whole;
};
using Places = std::map<std::string, Place>;

template <class Number>
Place into(Number& place) {
  return {[&place](double value) { place = static_cast<Number>(value); }, std::is_integral_v<Number>};
}

class Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)) {}

  Json load() const {
    std::ifstream file(path_);
    if (!file) {
      throw BadInput("cannot read the machine " + path_ + ": " + std::system_category().message(errno));
    }
    try {
      return Json::parse(file);
    } catch (const Json::exception& error) {
      throw BadInput("the machine " + path_ + " is no JSON: " + error.what());
    }
  }

  // `others`: keys that are no figures.
  void figures(const Json& object, const std::string& where, const Places& places,
               const std::vector<std::string>& others) const {
    if (!object.is_object()) {
      refuse(where + " is no object");
    }
    for (const auto& [key, value] : object.items()) {
      const auto found = places.find(key);
      std::string name = where;
      name += key;
      if (found != places.end()) {
        found->second.set(number(value, name, found->second.is_whole));
      } else if (std::find(others.begin(), others.end(), key) == others.end()) {
        refuse("'" + name + "' is no key of a machine");
      }
    }
  }

  [[noreturn]] void refuse(const std::string& what) const { throw BadInput("the machine " + path_ + ": " + what); }

 private:
  double number(const Json& figure, const std::string& where, bool is_whole) const {
    if (!figure.is_object() || figure.size() != 2 || !figure.contains("value") || !figure.contains("source") ||
        !figure["value"].is_number() || !figure["source"].is_string()) {
      refuse("'" + where + "' must be an object with a number, `value`, and a text, `source`");
    }
    if (is_whole) {
      const std::string what = "'" + where + "'";
      return static_cast<double>(whole_number(figure["value"], "the machine " + path_ + ": ", what, 0, highest_count));
    }
    const double value = figure["value"];
    if (!std::isfinite(value) || value < 0) {
      refuse("'" + where + "' must not be negative");
    }
    return value;
  }

  std::string path_;
};

Places common_places(Machine& machine) {
  return {{"cores", into(machine.cores)},
          {"ranks_per_node", into(machine.ranks_per_node)},
          {"workers", into(machine.workers)},
          {"speed", into(machine.speed)},
          {"latency", into(machine.latency)},
          {"bandwidth", into(machine.bandwidth)},
          {"local_latency", into(machine.local_latency)},
          {"local_bandwidth", into(machine.local_bandwidth)},
          {"slice", into(machine.slice)}};
}

}  // namespace

Machine read_machine(const std::string& path, Variant variant) {
  const Reader reader(path);
  const Json json = reader.load();
  Machine machine;
  const std::vector<std::string> others{"name", "messages-only", "two-sided", "one-sided"};
  reader.figures(json, "", common_places(machine), others);
  if (json.contains("name") && json["name"].is_string()) {
    machine.name = json["name"];
  }
  for (const Variant each : {Variant::messages_only, Variant::two_sided, Variant::one_sided}) {
    if (!json.contains(name_of(each))) {
      reader.refuse("'" + std::string(name_of(each)) + "' is missing");
    }
    VariantCosts& costs = machine.variants[static_cast<std::size_t>(each)];
    double spins = 0;
    unsigned ignored = 0;
    Places places{{"task", into(costs.task)},
                  {"spawn", into(costs.spawn)},
                  {"send", into(costs.send)},
                  {"receive", into(costs.receive)},
                  {"locked", into(costs.locked)},
                  {"notice", into(costs.notice)},
                  {"spins", into(spins)},
                  {"ranks_per_node", into(each == variant ? machine.ranks_per_node : ignored)},
                  {"workers", into(each == variant ? machine.workers : ignored)}};
    reader.figures(json[name_of(each)], std::string(name_of(each)) + ".", places, {});
    costs.spins = spins != 0;
  }
  if (machine.cores == 0 || machine.workers == 0 || machine.speed <= 0 || machine.bandwidth <= 0 ||
      machine.local_bandwidth <= 0) {
    reader.refuse("cores, workers, speed, bandwidth and local_bandwidth must be above 0");
  }
  return machine;
}

}  // namespace scaling
