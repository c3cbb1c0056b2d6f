#include "configuration.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/checked_json.hpp"

namespace dovetail::interpose::mpiio {
namespace {

using nlohmann::json;

// A program gives texts; people write numbers.
std::string hint_of(const json& value, const std::string& place) {
  return value.is_number_unsigned() ? std::to_string(value.get<std::uint64_t>()) : base::text_of_json(value, place);
}

GivenHints hints_in(const json& value, const std::string& place) {
  if (!value.is_object()) {
    base::refuse_value(place, "it must be an object");
  }
  GivenHints hints;
  for (const auto& [name, each] : value.items()) {
    if (!is_known_hint(name)) {
      base::refuse_name(place, "hint", name, names_of_hints() + ", and those of the MPI library");
    }
    std::string at = place;
    at.append(".").append(name);
    hints[name] = hint_of(each, at);
  }
  // A path may come from the program, and so may e10_cache.
  GivenHints checked = hints;
  checked.try_emplace("e10_cache_path", "/");
  if (const std::string why_not = read_hints(checked).why_not; !why_not.empty()) {
    base::refuse_value(place, why_not);
  }
  return hints;
}

FileRule rule_of(const json& value, const std::string& place) {
  base::check_object(value, place, {"names", "hints", "deferred_close"});
  if (!value.contains("names")) {
    base::refuse_value(place, "the key \"names\" is missing");
  }
  FileRule rule{.names = base::file_names_of(value["names"], place + ".names"), .hints = {}, .deferred_close = false};
  if (value.contains("hints")) {
    rule.hints = hints_in(value["hints"], place + ".hints");
  }
  if (value.contains("deferred_close")) {
    if (!value["deferred_close"].is_boolean()) {
      base::refuse_value(place + ".deferred_close", "it must be true or false");
    }
    rule.deferred_close = value["deferred_close"].get<bool>();
  }
  return rule;
}

}  // namespace

Configuration::Configuration(std::string_view text) {
  for (const json groups = base::groups_of_files(text); const json& each : groups) {
    rules_.push_back(rule_of(each, "files[" + std::to_string(rules_.size()) + "]"));
  }
}

const FileRule* Configuration::rule_for(const std::string& path) const {
  const auto found =
      std::ranges::find_if(rules_, [&](const FileRule& rule) { return base::matches(rule.names, path); });
  return found == rules_.end() ? nullptr : &*found;
}

}  // namespace dovetail::interpose::mpiio
