#include "configuration.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/bounded_json.hpp"

namespace dovetail::interpose::mpiio {
namespace {

using nlohmann::json;

[[noreturn]] void refuse(const std::string& place, const std::string& why) {
  throw std::invalid_argument(place + ": " + why);
}

[[noreturn]] void refuse_name(const std::string& place, const char* kind, const std::string& name,
                              const std::string& known) {
  refuse(place, std::string("the ") + kind + " \"" + name + "\" is not known; there are " + known);
}

// An object whose keys are among those listed.
void check_object(const json& value, const std::string& place, std::initializer_list<const char*> keys) {
  if (!value.is_object()) {
    refuse(place, "it must be an object");
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

std::string text_of(const json& value, const std::string& place) {
  if (!value.is_string() || value.get_ref<const std::string&>().empty() ||
      value.get_ref<const std::string&>().find('\0') != std::string::npos) {
    refuse(place, "it must be a text that is not empty");
  }
  return value.get<std::string>();
}

// A program gives texts; people write numbers.
std::string hint_of(const json& value, const std::string& place) {
  return value.is_number_unsigned() ? std::to_string(value.get<std::uint64_t>()) : text_of(value, place);
}

std::vector<std::string> names_of(const json& value, const std::string& place) {
  if (!value.is_array() || value.empty()) {
    refuse(place, "it must be a list of names of files, which may have *, ? and [...]");
  }
  std::vector<std::string> names;
  for (const json& each : value) {
    std::string at = place;
    at.append("[").append(std::to_string(names.size())).append("]");
    names.push_back(text_of(each, at));
    if (names.back().find('/') != std::string::npos && names.back().front() != '/') {
      refuse(at, "a name with a slash is compared with the absolute path, so that it must begin with a slash");
    }
  }
  return names;
}

GivenHints hints_in(const json& value, const std::string& place) {
  if (!value.is_object()) {
    refuse(place, "it must be an object");
  }
  GivenHints hints;
  for (const auto& [name, each] : value.items()) {
    if (!is_known_hint(name)) {
      refuse_name(place, "hint", name, names_of_hints() + ", and those of the MPI library");
    }
    std::string at = place;
    at.append(".").append(name);
    hints[name] = hint_of(each, at);
  }
  // A path may come from the program, and so may e10_cache.
  GivenHints checked = hints;
  checked.try_emplace("e10_cache_path", "/");
  if (const std::string why_not = read_hints(checked).why_not; !why_not.empty()) {
    refuse(place, why_not);
  }
  return hints;
}

FileRule rule_of(const json& value, const std::string& place) {
  check_object(value, place, {"names", "hints", "deferred_close"});
  if (!value.contains("names")) {
    refuse(place, "the key \"names\" is missing");
  }
  FileRule rule{.names = names_of(value["names"], place + ".names"), .hints = {}, .deferred_close = false};
  if (value.contains("hints")) {
    rule.hints = hints_in(value["hints"], place + ".hints");
  }
  if (value.contains("deferred_close")) {
    if (!value["deferred_close"].is_boolean()) {
      refuse(place + ".deferred_close", "it must be true or false");
    }
    rule.deferred_close = value["deferred_close"].get<bool>();
  }
  return rule;
}

}  // namespace

Configuration::Configuration(std::string_view text) {
  json all;
  try {
    all = base::parse_bounded_json(text);
  } catch (const json::parse_error& error) {
    throw std::invalid_argument(std::string("it is no JSON: ") + error.what());
  }
  check_object(all, "the configuration", {"files"});
  if (!all.contains("files") || !all["files"].is_array()) {
    refuse("files", "it must be a list of groups of files");
  }
  for (const json& each : all["files"]) {
    rules_.push_back(rule_of(each, "files[" + std::to_string(rules_.size()) + "]"));
  }
}

const FileRule* Configuration::rule_for(const std::string& path) const {
  const std::string last = path.substr(path.rfind('/') + 1);
  for (const FileRule& rule : rules_) {
    for (const std::string& name : rule.names) {
      const bool whole = name.find('/') != std::string::npos;
      if (::fnmatch(name.c_str(), whole ? path.c_str() : last.c_str(), whole ? FNM_PATHNAME : 0) == 0) {
        return &rule;
      }
    }
  }
  return nullptr;
}

}  // namespace dovetail::interpose::mpiio
