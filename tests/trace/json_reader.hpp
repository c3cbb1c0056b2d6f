// A strict reader of JSON, to tell whether what was written is JSON and what it says.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace dovetail::trace::test {

struct Json;
using JsonArray = std::vector<Json>;
using JsonObject = std::map<std::string, Json>;

struct Json {
  std::variant<std::nullptr_t, bool, double, std::string, JsonArray, JsonObject> value;

  /// Members of an object; throw std::out_of_range or std::bad_variant_access.
  const Json& operator[](const std::string& key) const { return std::get<JsonObject>(value).at(key); }
  bool has(const std::string& key) const { return std::get<JsonObject>(value).contains(key); }
  const std::string& text() const { return std::get<std::string>(value); }
  double number() const { return std::get<double>(value); }
  const JsonArray& array() const { return std::get<JsonArray>(value); }
};

/// Reads a whole text. Throws std::runtime_error that says where it is not JSON, or not UTF-8, or has a key twice.
Json read_json(std::string_view text);
/// Reads a file.
Json read_json_file(const std::string& path);

}  // namespace dovetail::trace::test
