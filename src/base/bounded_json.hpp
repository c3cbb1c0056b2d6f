// Reading JSON that another program may have written. The reader of nlohmann::json takes any depth, but to copy, compare or
// print what it read takes stack for each level.
#pragma once

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

namespace dovetail::base {

constexpr int deepest_json = 64;

/// @throws std::invalid_argument for what is nested more than 64 levels deep;
/// nlohmann::json::parse_error for what is no JSON; std::bad_alloc.
inline nlohmann::json parse_bounded_json(std::string_view text) {
  return nlohmann::json::parse(text, [](int depth, nlohmann::json::parse_event_t, const nlohmann::json&) {
    if (depth > deepest_json) {
      throw std::invalid_argument("it is nested more than " + std::to_string(deepest_json) + " levels deep");
    }
    return true;
  });
}

}  // namespace dovetail::base
