#include "settings.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace dovetail::tiom {
namespace {

template <class Kind>
using Words = std::pair<const char*, Kind>;

constexpr std::array mode_words = {Words<Mode>{"mix", Mode::mix}, Words<Mode>{"1to1", Mode::one_to_one},
                                   Words<Mode>{"fjio", Mode::fjio}, Words<Mode>{"fjc", Mode::fjc}};
constexpr std::array variant_words = {
    Words<Variant>{"standalone", Variant::standalone}, Words<Variant>{"threads", Variant::threads},
    Words<Variant>{"blocking", Variant::blocking}, Words<Variant>{"nonblocking", Variant::nonblocking},
    Words<Variant>{"openmp", Variant::openmp}};
constexpr std::array pattern_words = {
    Words<Pattern>{"sr", Pattern::sequential_read}, Words<Pattern>{"sw", Pattern::sequential_write},
    Words<Pattern>{"rr", Pattern::random_read}, Words<Pattern>{"rw", Pattern::random_write}};

template <class Table, class Kind>
std::string word_for(const Table& table, Kind kind) {
  for (const auto& [word, value] : table) {
    if (value == kind) {
      return word;
    }
  }
  throw std::logic_error("a kind without a word");
}

template <class Table>
auto kind_for(const Table& table, const char* what, const std::string& name) {
  std::string known;
  for (const auto& [word, value] : table) {
    if (name == word) {
      return value;
    }
    known += (known.empty() ? "" : ", ") + std::string(word);
  }
  throw std::invalid_argument("there is no " + std::string(what) + " '" + name + "'; there are " + known);
}

}  // namespace

std::string name_of(Mode mode) { return word_for(mode_words, mode); }
std::string name_of(Variant variant) { return word_for(variant_words, variant); }
std::string name_of(Pattern pattern) { return word_for(pattern_words, pattern); }
Mode mode_of(const std::string& name) { return kind_for(mode_words, "mode", name); }
Variant variant_of(const std::string& name) { return kind_for(variant_words, "variant", name); }
Pattern pattern_of(const std::string& name) { return kind_for(pattern_words, "pattern", name); }

void to_json(nlohmann::json& json, const Point& point) {
  json = {{"mode", name_of(point.mode)}, {"pattern", name_of(point.pattern)},
          {"block", point.block},        {"compute_ms", point.compute_ms},
          {"series", point.series},      {"operations", point.operations}};
}

void from_json(const nlohmann::json& json, Point& point) {
  point.mode = mode_of(json.at("mode"));
  point.pattern = pattern_of(json.at("pattern"));
  json.at("block").get_to(point.block);
  json.at("compute_ms").get_to(point.compute_ms);
  json.at("series").get_to(point.series);
  json.at("operations").get_to(point.operations);
}

void to_json(nlohmann::json& json, const Settings& settings) {
  std::vector<std::string> variants;
  variants.reserve(settings.variants.size());
  for (const Variant variant : settings.variants) {
    variants.push_back(name_of(variant));
  }
  json = {
      {"file", settings.file},     {"size", settings.size},           {"direct", settings.direct},
      {"engine", settings.engine}, {"workers", settings.workers},     {"time_limit", settings.time_limit},
      {"rounds", settings.rounds}, {"seed", settings.seed},           {"iterations_per_ms", settings.iterations_per_ms},
      {"verify", settings.verify}, {"overwrite", settings.overwrite}, {"variants", variants}};
}

void from_json(const nlohmann::json& json, Settings& settings) {
  json.at("file").get_to(settings.file);
  json.at("size").get_to(settings.size);
  json.at("direct").get_to(settings.direct);
  json.at("engine").get_to(settings.engine);
  json.at("workers").get_to(settings.workers);
  json.at("time_limit").get_to(settings.time_limit);
  json.at("rounds").get_to(settings.rounds);
  json.at("seed").get_to(settings.seed);
  json.at("iterations_per_ms").get_to(settings.iterations_per_ms);
  json.at("verify").get_to(settings.verify);
  json.at("overwrite").get_to(settings.overwrite);
  settings.variants.clear();
  for (const std::string name : json.at("variants")) {
    settings.variants.push_back(variant_of(name));
  }
}

}  // namespace dovetail::tiom
