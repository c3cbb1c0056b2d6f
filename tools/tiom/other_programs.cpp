#include "other_programs.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

namespace dovetail::tiom {
namespace {

/// Seconds that all cores together spent on programs and on the kernel, since the machine started.
double used_by_all() {
  std::ifstream file("/proc/stat");
  std::string word;
  std::array<double, 8> ticks{};  // user, nice, system, idle, waiting for I/O, interrupts, soft ones, stolen
  file >> word;
  for (double& each : ticks) {
    file >> each;
  }
  if (!file || word != "cpu") {
    return 0;
  }
  return (ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6] + ticks[7]) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

double used_here() {
  double all = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(static_cast<__rusage_who_t>(who), &usage);
    all += seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }
  return all;
}

}  // namespace

OtherPrograms::OtherPrograms() : used_(used_by_all()), own_(used_here()), start_(std::chrono::steady_clock::now()) {}

double OtherPrograms::share() const {
  const double others = (used_by_all() - used_) - (used_here() - own_);
  const double passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const double cores = static_cast<double>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  return passed > 0 ? std::clamp(others / (passed * cores), 0.0, 1.0) : 0;
}

std::string doubts_of(const nlohmann::json& result) {
  std::string text;
  char line[300];
  const double others = result.value("others_share", 0.0);
  if (others > notable_others) {
    std::snprintf(
        line, sizeof(line),
        "note: other programs used %.0f %% of the cores meanwhile: the figures say little of an idle machine\n",
        100 * others);
    text += line;
  }
  for (const auto& [name, figures] : result.at("variants").items()) {
    const double efficiency = figures.value("efficiency", 0.0);
    if (efficiency > impossible_efficiency) {
      std::snprintf(
          line, sizeof(line),
          "note: %s has an efficiency of %.2f, more than there can be: the curve of the device or the calibration was "
          "measured while others used the machine. Measure both again\n",
          name.c_str(), efficiency);
      text += line;
    }
  }
  return text;
}

}  // namespace dovetail::tiom
