#include "configuration.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>

#include "base/checked_json.hpp"
#include "base/plain_file.hpp"
#include "libc.hpp"
#include "tell.hpp"
#include "within.hpp"

namespace dovetail::interpose::staged {
namespace {

using nlohmann::json;

constexpr int bad_input = 2;

std::string tier_of(const std::string& folder, const std::string& place) {
  std::error_code error;
  std::filesystem::path real;
  if (folder.starts_with('/')) {
    real = std::filesystem::canonical(folder, error);
  }
  if (real.empty() || error || !std::filesystem::is_directory(real, error)) {
    base::refuse_value(place, "\"" + folder + "\" must be the absolute path of a folder that exists");
  }
  return real;
}

FileRule rule_of(const json& value, const std::string& place, const std::string& usual_tier) {
  base::check_object(value, place, {"names", "tier", "from_bytes"});
  if (!value.contains("names")) {
    base::refuse_value(place, "the key \"names\" is missing");
  }
  FileRule rule;
  rule.names = base::file_names_of(value["names"], place + ".names");
  if (value.contains("tier")) {
    rule.tier = tier_of(base::text_of_json(value["tier"], place + ".tier"), place + ".tier");
  } else if (!usual_tier.empty()) {
    rule.tier = tier_of(usual_tier, "DOVETAIL_TIER");
  } else {
    base::refuse_value(place, "the key \"tier\" is missing, and DOVETAIL_TIER is not set");
  }
  if (value.contains("from_bytes")) {
    if (!value["from_bytes"].is_number_unsigned()) {
      base::refuse_value(place + ".from_bytes", "it must be a number of bytes, 0 or more");
    }
    rule.from_bytes = value["from_bytes"].get<std::uint64_t>();
  }
  return rule;
}

std::string_view last_name(std::string_view path) noexcept { return path.substr(path.rfind('/') + 1); }

Configuration read_configuration() {
  const char* const path = ::secure_getenv("DOVETAIL_STAGING_CONFIGURATION");
  if (path == nullptr || *path == '\0') {
    return {};
  }
  const Within within;
  const char* const tier = ::secure_getenv("DOVETAIL_TIER");
  try {
    const base::FileText read =
        base::read_plain_file(path, {.follow_links = true, .of_anyone = true, .most_bytes = Configuration::most_bytes});
    if (read.missing || !read.why.empty()) {
      throw std::invalid_argument(read.missing ? "there is no such file" : read.why);
    }
    return {read.text, tier == nullptr ? "" : tier};
  } catch (const std::exception& failure) {
    tell(std::string("the configuration ") + path +
         " (DOVETAIL_STAGING_CONFIGURATION) cannot be used: " + failure.what());
    libc::_exit(bad_input);
    __builtin_unreachable();
  }
}

}  // namespace

LiteralEnds::LiteralEnds(std::string_view pattern) {
  constexpr std::string_view not_literal = "*?[]\\";
  const std::string_view last = last_name(pattern);
  if (last.size() != pattern.size()) {
    path_ = pattern.substr(0, pattern.find_first_of(not_literal));
  }
  first_ = last.substr(0, last.find_first_of(not_literal));
  last_ = last.substr(last.find_last_of(not_literal) + 1);
}

bool LiteralEnds::may_match(std::string_view path) const noexcept {
  return path.starts_with(path_) && may_match_last(last_name(path));
}

Configuration::Configuration(std::string_view text, const std::string& usual_tier) {
  for (const json groups = base::groups_of_files(text); const json& each : groups) {
    rules_.push_back(rule_of(each, "files[" + std::to_string(rules_.size()) + "]", usual_tier));
    for (const std::string& name : rules_.back().names) {
      ends_.emplace_back(name);
    }
  }
}

bool Configuration::may_name(std::string_view path) const noexcept {
  const std::string_view last = last_name(path);
  return std::ranges::any_of(ends_, [&](const LiteralEnds& each) { return each.may_match_last(last); });
}

const FileRule* Configuration::rule_for(const std::string& path) const {
  if (std::ranges::none_of(ends_, [&](const LiteralEnds& each) { return each.may_match(path); })) {
    return nullptr;
  }
  const auto found =
      std::ranges::find_if(rules_, [&](const FileRule& rule) { return base::matches(rule.names, path); });
  const bool in_tier =
      std::ranges::any_of(rules_, [&](const FileRule& rule) { return path.starts_with(rule.tier + "/"); });
  return found == rules_.end() || in_tier ? nullptr : &*found;
}

const dovetail::staging::TierSettings& tier_settings() {
  static const auto* const read = [] {
    const Within within;
    try {
      return new dovetail::staging::TierSettings(dovetail::staging::settings_from_environment());
    } catch (const std::exception& failure) {
      tell(failure.what());
      libc::_exit(bad_input);
      __builtin_unreachable();
    }
  }();
  return *read;
}

const Configuration& configuration() {
  static const auto* const read = new Configuration(read_configuration());
  return *read;
}

}  // namespace dovetail::interpose::staged
