#include "device/measure.hpp"

#include <algorithm>
#include <stdexcept>

#include "device/calibration.hpp"
#include "device/failure.hpp"

namespace dovetail::device {
namespace {

template <class Value>
void demand(bool good, const char* name, Value value, const char* what) {
  if (!good) {
    throw std::invalid_argument(std::string("MeasureOptions::") + name + " is " + std::to_string(value) + ": " + what);
  }
}

void check_options(const MeasureOptions& options) {
  demand(!options.directions.empty(), "directions.size()", 0, "there must be one");
  demand(!options.blocks.empty(), "blocks.size()", 0, "there must be one");
  demand(!options.depths.empty(), "depths.size()", 0, "there must be one");
  for (const std::uint64_t block : options.blocks) {
    demand(block >= 512 && block <= 64 * mebibyte && block % 512 == 0, "blocks", block,
           "it must be a multiple of 512, from 512 to 64 MiB");
  }
  for (const unsigned depth : options.depths) {
    demand(depth >= 1 && depth <= 1024, "depths", depth, "it must be from 1 to 1024");
  }
  demand(options.point_limit.count() >= 10, "point_limit", options.point_limit.count(), "it must be 10 ms or more");
  demand(options.total_limit >= options.point_limit, "total_limit", options.total_limit.count(),
         "it must not be less than point_limit");
  if (options.engine != "auto" && options.engine != "uring" && options.engine != "aio" && options.engine != "threads") {
    throw std::invalid_argument("MeasureOptions::engine is \"" + options.engine +
                                "\": it must be auto, uring, aio or threads");
  }
}

template <class Value>
std::vector<Value> sorted_once(std::vector<Value> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

MeasureOptions normal(MeasureOptions options) {
  check_options(options);
  options.blocks = sorted_once(std::move(options.blocks));
  options.depths = sorted_once(std::move(options.depths));
  return options;
}

}  // namespace

Curve measure(const std::string& path, const MeasureOptions& options) {
  require_whole_path(path, "measure");
  return Calibration(path, normal(options)).run();
}

}  // namespace dovetail::device
