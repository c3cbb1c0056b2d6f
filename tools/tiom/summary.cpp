#include "summary.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "model.hpp"
#include "other_programs.hpp"
#include "point.hpp"
#include "statistics.hpp"
#include "text.hpp"

namespace dovetail::tiom {
namespace {

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", digits, value);
  return text;
}

/// The result that counts for each point: the last one without an error, or else the last.
std::map<std::size_t, const PointResult*> that_count(const ResultFolder& folder) {
  std::map<std::size_t, const PointResult*> chosen;
  for (const PointResult& result : folder.results()) {
    const PointResult*& place = chosen[result.index];
    if (place == nullptr || result.error.empty() || !place->error.empty()) {
      place = &result;
    }
  }
  return chosen;
}

/// Why the best point is the best: what each side of it can keep busy.
std::string reason_of(const nlohmann::json& data, const std::string& variant, const Settings& settings,
                      const Curves& curves) {
  const auto point = data.at("point").get<Point>();
  const SavedCurve* const curve = curves.of(point);
  const nlohmann::json& standalone = data.at("variants").at("standalone");
  std::string reason = "plain calls moved " + fixed(standalone.at("mib_per_second"), 1) + " MiB/s, " + variant + " " +
                       fixed(data.at("variants").at(variant).at("mib_per_second"), 1) + " MiB/s";
  if (curve == nullptr || !data.contains("model")) {
    return reason;
  }
  const unsigned cores = cores_for(settings.workers);
  const DeviceSpeed speed = speed_of(curve->curve, point);
  const double mib = static_cast<double>(point.block) / (1 << 20);
  const double depth = data.at("model").at("depth");
  reason += ". With plain calls a core computes or waits, so at most " + std::to_string(cores) +
            " transfers are under way, for which the device gives " +
            fixed(speed.operations_per_second(cores) * mib, 1) +
            " MiB/s, and only while nothing computes; here the cores compute and up to " + fixed(depth, 1) +
            " transfers are under way, for which it gives " + fixed(speed.operations_per_second(depth) * mib, 1) +
            " MiB/s. The bound is set by the " + data.at("model").at("limit").get<std::string>();
  return reason;
}

/// How far runs of either variant are apart.
double runs_differ(const nlohmann::json& one, const nlohmann::json& other) {
  return std::max(one.at("spread").get<double>(), other.at("spread").get<double>());
}

/// How far runs of a variant and of the baseline are apart.
double differ_from_baseline(const nlohmann::json& data, const nlohmann::json& figures) {
  return runs_differ(figures, data.at("variants").at(data.at("baseline").get<std::string>()));
}

nlohmann::json slower_entry(const nlohmann::json& data, const std::string& variant) {
  const nlohmann::json& figures = data.at("variants").at(variant);
  return {{"point", data.at("point")},
          {"variant", variant},
          {"baseline", data.at("baseline")},
          {"speedup", figures.at("over_baseline")},
          {"spread", differ_from_baseline(data, figures)}};
}

/// Collects figures over points and remembers where the least one was.
class Extremes {
 public:
  void add(double value, const nlohmann::json& point, const std::string& variant) {
    if (values_.empty() || value < least_) {
      least_ = value;
      where_ = {{"point", point}, {"variant", variant}};
    }
    values_.push_back(value);
  }
  nlohmann::json json() const {
    if (values_.empty()) {
      return nullptr;
    }
    return {{"median", median(values_)}, {"worst", least_}, {"worst_at", where_}, {"count", values_.size()}};
  }

 private:
  std::vector<double> values_;
  double least_ = 0;
  nlohmann::json where_;
};

}  // namespace

std::string point_text(const nlohmann::json& json) {
  const auto point = json.get<Point>();
  std::string compute = fixed(point.compute_ms, 3);
  compute.erase(compute.find_last_not_of('0') + 1);
  compute.erase(compute.find_last_not_of('.') + 1);
  return name_of(point.mode) + " " + name_of(point.pattern) + " " + size_text(point.block) + ", " + compute + " ms, " +
         std::to_string(point.series) + " series";
}

std::vector<std::string> slower_variants(const nlohmann::json& data, double noise) {
  std::vector<std::string> slower;
  for (const auto& [name, figures] : data.at("variants").items()) {
    if (figures.contains("over_baseline") &&
        figures.at("over_baseline").get<double>() < 1 - std::max(differ_from_baseline(data, figures), noise)) {
      slower.push_back(name);
    }
  }
  return slower;
}

nlohmann::json summarise(const ResultFolder& folder, const Curves& curves) {
  const SweepPlan& plan = folder.plan();
  nlohmann::json slower = nlohmann::json::array();
  nlohmann::json failed = nlohmann::json::array();
  nlohmann::json best;
  std::map<std::string, Extremes> efficiency;
  std::map<std::string, Extremes> efficiency_plain;
  std::map<std::string, Extremes> speedup;
  std::map<std::string, Extremes> over_baseline;
  Extremes blocking;
  std::size_t measured = 0;
  std::size_t measured_again = 0;
  std::size_t comparisons = 0;
  std::size_t doubtful = 0;
  for (const auto& [index, result] : that_count(folder)) {
    if (!result->error.empty()) {
      failed.push_back({{"point", plan.points[index]}, {"error", result->error}});
      continue;
    }
    ++measured;
    measured_again += result->confirmation ? 1 : 0;
    const nlohmann::json& data = result->data;
    doubtful += doubts_of(data).empty() ? 0 : 1;
    for (const auto& [name, figures] : data.at("variants").items()) {
      if (figures.contains("efficiency")) {
        efficiency[name].add(figures.at("efficiency"), data.at("point"), name);
        efficiency_plain[name].add(figures.at("efficiency_plain"), data.at("point"), name);
      }
      if (figures.contains("to_nonblocking")) {
        blocking.add(figures.at("to_nonblocking"), data.at("point"), name);
      }
      if (figures.contains("over_baseline")) {
        ++comparisons;
        over_baseline[name].add(figures.at("over_baseline"), data.at("point"), name);
      }
      if (figures.contains("speedup")) {
        speedup[name].add(figures.at("speedup"), data.at("point"), name);
        if (!is_plain(variant_of(name)) && (best.is_null() || figures.at("speedup") > best.at("speedup"))) {
          best = {{"point", data.at("point")},
                  {"variant", name},
                  {"speedup", figures.at("speedup")},
                  {"speedup_spread", figures.at("speedup_spread")},
                  {"why", reason_of(data, name, plan.settings, curves)}};
        }
      }
    }
    for (const std::string& name : slower_variants(data, plan.noise)) {
      slower.push_back(slower_entry(data, name));
    }
  }
  const auto all = [](const std::map<std::string, Extremes>& extremes) {
    nlohmann::json json = nlohmann::json::object();
    for (const auto& [name, values] : extremes) {
      json[name] = values.json();
    }
    return json;
  };
  return {{"format", "dovetail-tiom-summary-3"},
          {"points", plan.points.size()},
          {"measured", measured},
          {"measured_again", measured_again},
          {"comparisons", comparisons},
          {"doubtful", doubtful},
          {"rounds", plan.settings.rounds},
          {"noise", plan.noise},
          {"slower", slower},
          {"best", best},
          {"speedup", all(speedup)},
          {"over_baseline", all(over_baseline)},
          {"efficiency", all(efficiency)},
          {"efficiency_plain", all(efficiency_plain)},
          {"blocking_to_nonblocking", blocking.json()},
          {"failed", failed}};
}

std::string summary_text(const nlohmann::json& summary) {
  const auto where = [](const nlohmann::json& at) { return "(" + point_text(at.at("point")) + ")"; };
  std::string text = std::to_string(summary.at("measured").get<std::size_t>()) + " of " +
                     std::to_string(summary.at("points").get<std::size_t>()) + " points measured, " +
                     std::to_string(summary.at("rounds").get<unsigned>()) + " rounds each";
  if (summary.at("measured_again") > 0) {
    text += "; " + std::to_string(summary.at("measured_again").get<std::size_t>()) +
            " again, because a variant seemed slower";
  }
  text += '\n';
  const nlohmann::json& best = summary.at("best");
  if (!best.is_null()) {
    text += "best: " + fixed(best.at("speedup"), 2) + " x standalone, " + best.at("variant").get<std::string>() + " " +
            where(best) + ": " + best.at("why").get<std::string>() + "\n";
  }
  for (const auto& [field, over] : {std::pair{"speedup", "standalone"}, std::pair{"over_baseline", "the baseline"}}) {
    for (const auto& [name, figures] : summary.at(field).items()) {
      text += "speed-up of " + name + " over " + over + ": median " + fixed(figures.at("median"), 3) + ", worst " +
              fixed(figures.at("worst"), 3) + " " + where(figures.at("worst_at")) + "\n";
    }
  }
  for (const auto& [name, figures] : summary.at("efficiency").items()) {
    const nlohmann::json& plain = summary.at("efficiency_plain").at(name);
    text += "efficiency of " + name + ": median " + fixed(figures.at("median"), 3) + ", worst " +
            fixed(figures.at("worst"), 3) + " " + where(figures.at("worst_at")) +
            "; against max(T_compute / cores, T_io) alone: median " + fixed(plain.at("median"), 3) + ", worst " +
            fixed(plain.at("worst"), 3) + "\n";
  }
  const nlohmann::json& blocking = summary.at("blocking_to_nonblocking");
  if (!blocking.is_null()) {
    text += "blocking against nonblocking: median " + fixed(blocking.at("median"), 3) + ", worst " +
            fixed(blocking.at("worst"), 3) + " " + where(blocking.at("worst_at")) + "\n";
  }
  if (summary.at("comparisons") > 0) {
    text += "slower than the baseline beyond what runs differ: " + std::to_string(summary.at("slower").size()) +
            " of " + std::to_string(summary.at("comparisons").get<std::size_t>()) + "\n";
  }
  for (const nlohmann::json& entry : summary.at("slower")) {
    text += "  " + fixed(entry.at("speedup"), 3) + " x  " + entry.at("variant").get<std::string>() + "  " +
            point_text(entry.at("point")) + "  (than " + entry.at("baseline").get<std::string>() + "; runs differ by " +
            fixed(100 * entry.at("spread").get<double>(), 1) + " %)\n";
  }
  if (const auto doubtful = summary.value("doubtful", std::size_t{0}); doubtful > 0) {
    text += "doubtful: " + std::to_string(doubtful) +
            " points, since other programs used the machine or a variant was better than the model allows\n";
  }
  for (const nlohmann::json& entry : summary.at("failed")) {
    text += "not measured: " + point_text(entry.at("point")) + ": " + entry.at("error").get<std::string>() + "\n";
  }
  return text;
}

}  // namespace dovetail::tiom
