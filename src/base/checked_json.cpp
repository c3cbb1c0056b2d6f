#include "base/checked_json.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>

namespace dovetail::base {

using nlohmann::json;

void refuse_value(const std::string& place, const std::string& why) { throw std::invalid_argument(place + ": " + why); }

void refuse_name(const std::string& place, const char* kind, const std::string& name, const std::string& known) {
  refuse_value(place, std::string("the ") + kind + " \"" + name + "\" is not known; there are " + known);
}

void check_object(const json& value, const std::string& place, std::initializer_list<const char*> keys) {
  if (!value.is_object()) {
    refuse_value(place, "it must be an object");
  }
  std::string all;
  for (const char* const key : keys) {
    all.append(all.empty() ? "" : ", ").append(key);
  }
  for (const auto& [key, each] : value.items()) {
    if (std::ranges::find(keys, std::string_view(key)) == keys.end()) {
      refuse_name(place, "key", key, all);
    }
  }
}

std::string text_of_json(const json& value, const std::string& place) {
  if (!value.is_string() || value.get_ref<const std::string&>().empty() ||
      value.get_ref<const std::string&>().find('\0') != std::string::npos) {
    refuse_value(place, "it must be a text that is not empty");
  }
  return value.get<std::string>();
}

}  // namespace dovetail::base
