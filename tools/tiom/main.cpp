// dovetail-tiom: the benchmark of the TASIO paper (docs/papers.md), section 5, on Dovetail. docs/tiom.md describes it.
#include <iostream>
#include <nlohmann/json.hpp>

#include "calibration.hpp"
#include "curves.hpp"
#include "options.hpp"
#include "point.hpp"
#include "printing.hpp"
#include "progress.hpp"
#include "sweep.hpp"
#include "test_file.hpp"

namespace {

using namespace dovetail::tiom;

int run_point(Command command) {
  Settings& settings = command.settings;
  const Point point = points_of(command.grid, command.operations).front();
  prepare_file(settings);
  if (settings.iterations_per_ms == 0) {
    settings.iterations_per_ms = calibrate_and_tell(settings.workers);
  }
  std::optional<dovetail::device::Curve> curve;
  if (command.model) {
    Progress progress;
    const double seconds = command.curve_time > 0 ? command.curve_time : 5;
    curve = obtain_curve(settings, {point}, !is_random(point.pattern), command.curve, seconds,
                         [&](const std::string& text, double part) { progress.show(text, part, -1); })
                .curve;
  }
  nlohmann::json result = measure_point(settings, point, curve);
  if (command.json) {
    result["settings"] = settings;
    std::cout << result.dump() << '\n';
  } else {
    std::cout << table_of(result);
  }
  return 0;
}

int usage(const std::exception& error) {
  std::cerr << "dovetail-tiom: " << error.what() << "\ndovetail-tiom: --help lists the options\n";
  return 2;
}

}  // namespace

int main(int count, char** values) {
  try {
    const auto command = parse_command({values + 1, values + count});
    if (!command) {
      return 0;
    }
    return command->sweep || !command->resume.empty() ? run_sweep(*command) : run_point(*command);
  } catch (const std::invalid_argument& error) {
    return usage(error);
  } catch (const std::exception& error) {
    std::cerr << "dovetail-tiom: " << error.what() << '\n';
    return 1;
  }
}
