// Values of a configuration that people write: what is wrong is told with its place.
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>

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

}  // namespace dovetail::base
