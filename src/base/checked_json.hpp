// Values of a configuration that people write: what is wrong is told with its place.
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "base/bounded_json.hpp"

namespace dovetail::base {

/// @throws std::invalid_argument
[[noreturn]] void refuse_value(const std::string& place, const std::string& why);
/// There is no such key, or value: `kind`. `known` lists those that there are.
[[noreturn]] void refuse_name(const std::string& place, const char* kind, const std::string& name,
                              const std::string& known);
/// An object whose keys are among those listed. @throws std::invalid_argument
void check_object(const nlohmann::json& value, const std::string& place, std::initializer_list<const char*> keys);
/// A text that is not empty. @throws std::invalid_argument
std::string text_of_json(const nlohmann::json& value, const std::string& place);
/// The groups of a configuration of files: the list `files`, its only key. @throws std::invalid_argument
inline nlohmann::json groups_of_files(std::string_view text) {
  nlohmann::json all;
  try {
    all = parse_bounded_json(text);
  } catch (const nlohmann::json::parse_error& error) {
    throw std::invalid_argument(std::string("it is no JSON: ") + error.what());
  }
  check_object(all, "the configuration", {"files"});
  if (!all.contains("files") || !all["files"].is_array()) {
    refuse_value("files", "it must be a list of groups of files");
  }
  return std::move(all["files"]);
}

}  // namespace dovetail::base
