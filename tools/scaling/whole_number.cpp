#include "whole_number.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "graph.hpp"

namespace scaling {

std::int64_t whole_number(const nlohmann::json& number, const std::string& where, const std::string& what,
                          std::int64_t lowest, std::int64_t highest) {
  const double value = number.is_number() ? number.get<double>() : std::nan("");
  const bool is_within = value >= static_cast<double>(lowest) && value <= static_cast<double>(highest);
  if (!is_within || value != std::trunc(value)) {
    const std::string range =
        lowest > highest ? "there is none"
                         : "must be a whole number from " + std::to_string(lowest) + " to " + std::to_string(highest);
    throw BadInput(where + what + " is " + number.dump() + ", but " + range);
  }
  return static_cast<std::int64_t>(value);
}

}  // namespace scaling
