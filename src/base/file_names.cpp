#include "base/file_names.hpp"

#include <fnmatch.h>

#include <algorithm>

#include "base/checked_json.hpp"

namespace dovetail::base {

FileNames file_names_of(const nlohmann::json& value, const std::string& place) {
  if (!value.is_array() || value.empty()) {
    refuse_value(place, "it must be a list of names of files, which may have *, ? and [...]");
  }
  FileNames names;
  for (const nlohmann::json& each : value) {
    std::string at = place;
    at.append("[").append(std::to_string(names.size())).append("]");
    names.push_back(text_of_json(each, at));
    if (names.back().find('/') != std::string::npos && names.back().front() != '/') {
      refuse_value(at, "a name with a slash is compared with the absolute path, so that it must begin with a slash");
    }
  }
  return names;
}

bool matches(const FileNames& names, const std::string& path) {
  const std::string last = path.substr(path.rfind('/') + 1);
  return std::ranges::any_of(names, [&](const std::string& name) {
    const bool whole = name.find('/') != std::string::npos;
    return ::fnmatch(name.c_str(), whole ? path.c_str() : last.c_str(), whole ? FNM_PATHNAME : 0) == 0;
  });
}

}  // namespace dovetail::base
