#include "printing.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "other_programs.hpp"
#include "summary.hpp"

namespace dovetail::tiom {

std::string table_of(const nlohmann::json& result) {
  std::string text = point_text(result.at("point")) + ", " +
                     std::to_string(result.at("point").at("operations").get<std::uint64_t>()) + " transfers\n";
  char line[200];
  std::snprintf(line, sizeof(line), "%-12s %9s %9s %8s %9s %9s %11s %8s\n", "variant", "seconds", "MiB/s", "spread",
                "speed-up", "over base", "efficiency", "CPU s");
  text += line;
  for (const auto& [name, figures] : result.at("variants").items()) {
    const auto optional = [&](const char* field, int digits) {
      char value[32];
      std::snprintf(value, sizeof(value), "%.*f", digits, figures.value(field, 0.0));
      return figures.contains(field) ? std::string(value) : std::string("-");
    };
    std::snprintf(line, sizeof(line), "%-12s %9.3f %9.1f %7.1f%% %9s %9s %11s %8.2f%s\n", name.c_str(),
                  figures.at("seconds").get<double>(), figures.at("mib_per_second").get<double>(),
                  100 * figures.at("spread").get<double>(), optional("speedup", 3).c_str(),
                  optional("over_baseline", 3).c_str(), optional("efficiency", 3).c_str(),
                  figures.at("cpu_seconds").get<double>(), figures.at("complete").get<bool>() ? "" : "  time limit");
    text += line;
  }
  if (result.contains("model")) {
    const nlohmann::json& model = result.at("model");
    std::snprintf(line, sizeof(line),
                  "model: at least %.3f s, set by the %s (max(T_compute / cores, T_io) alone: %.3f s)\n",
                  model.at("seconds").get<double>(), model.at("limit").get<std::string>().c_str(),
                  model.at("plain_seconds").get<double>());
    text += line;
  }
  return text + doubts_of(result);
}

}  // namespace dovetail::tiom
