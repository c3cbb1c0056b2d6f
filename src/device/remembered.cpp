#include "device/remembered.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/bounded_json.hpp"
#include "base/descriptor.hpp"
#include "base/plain_file.hpp"

namespace dovetail::device {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int version = 1;
constexpr std::size_t most_devices = 1000;
constexpr std::size_t most_bytes = 4 << 20;

json nothing() { return {{"version", version}, {"devices", json::object()}}; }

void warn_once(const std::string& file, const std::string& why) {
  static std::atomic<bool> warned{false};
  if (!warned.exchange(true)) {
    std::fprintf(stderr, "dovetail: what earlier runs learned is ignored: %s: %s; remove the file to be rid of this\n",
                 file.c_str(), why.c_str());
  }
}

// What stands in the file; where that is of no use, nothing.
struct Content {
  json content = nothing();
  bool ours = true;
};

json parsed(const std::string& file, const std::string& text) {
  json content;
  try {
    content = base::parse_bounded_json(text);
  } catch (const std::exception&) {
    warn_once(file, "it is damaged");
    return nothing();
  }
  if (!content.is_object() || !content.contains("version")) {
    warn_once(file, "it is damaged");
    return nothing();
  }
  if (const json& found = content.at("version"); found != version) {
    warn_once(file, "it is of " + (found.is_number() ? "version " + found.dump() : std::string("another version")) +
                        ", this is version " + std::to_string(version));
    return nothing();
  }
  if (!content.contains("devices") || !content.at("devices").is_object()) {
    warn_once(file, "it is damaged");
    return nothing();
  }
  return content;
}

Content read(const std::string& file) {
  const base::FileText read = base::read_plain_file(file, {.most_bytes = most_bytes});
  if (read.missing) {
    return {};
  }
  if (!read.why.empty()) {
    warn_once(file, read.why);
    return {nothing(), read.ours};
  }
  return {parsed(file, read.text), true};
}

json entry(const std::string& device) {
  const std::string file = memory_file();
  if (file.empty()) {
    return json::object();
  }
  const json content = read(file).content;
  const auto found = content.at("devices").find(device);
  return found != content.at("devices").end() && found->is_object() ? *found : json::object();
}

double number(const json& object, const std::string& key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) {
    return 0;
  }
  const auto value = found->get<double>();
  return std::isfinite(value) && value > 0 ? value : 0;
}

constexpr double most_at_once = 65536;

Level level(double at_once, double rate) {
  const bool known = at_once >= 1 && at_once <= most_at_once;
  return known ? Level{static_cast<unsigned>(at_once), rate} : Level{};
}

std::string curve_key(Direction direction) { return std::string("measured_") + name_of(direction); }

bool change(const std::string& device, const json& fields) noexcept {
  try {
    const std::string file = memory_file();
    if (file.empty()) {
      return false;
    }
    std::error_code error;
    fs::create_directories(fs::path(file).parent_path(), error);
    // Closed, it gives the lock back.
    const base::Descriptor lock(
        base::open_plain_file(file + ".lock", O_RDWR | O_CREAT, {.of_anyone = true}).descriptor);
    if (lock.get() < 0 || flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
      return false;
    }
    Content found = read(file);
    if (!found.ours) {
      return false;
    }
    json& devices = found.content["devices"];
    if (devices.size() >= most_devices && !devices.contains(device)) {
      devices.clear();
    }
    json& place = devices[device];
    if (!place.is_object()) {
      place = json::object();
    }
    place.update(fields);
    return base::replace_plain_file(file, found.content.dump(1) + "\n").error == 0;
  } catch (const std::exception&) {
    return false;  // to remember is a comfort; a program must not fail for it
  }
}

}  // namespace

std::string memory_file() {
  const char* const state = std::getenv("XDG_STATE_HOME");
  const char* const home = std::getenv("HOME");
  fs::path folder;
  if (state != nullptr && *state != '\0') {
    folder = state;
  } else if (home != nullptr && *home != '\0') {
    folder = fs::path(home) / ".local" / "state";
  } else {
    return {};
  }
  return (folder / "dovetail" / "admission.json").string();
}

Level recall_level(const std::string& device) {
  const json fields = entry(device);
  return level(number(fields, "at_once"), number(fields, "mb_per_second"));
}

bool remember_level(const std::string& device, const Level& level) {
  return change(device, {{"at_once", level.at_once}, {"mb_per_second", level.rate}});
}

std::vector<Level> recall_curve(const std::string& device, Direction direction) {
  const json fields = entry(device);
  const auto found = fields.find(curve_key(direction));
  std::vector<Level> curve;
  if (found != fields.end() && found->is_array()) {
    for (const json& point : *found) {
      const Level known = point.is_object() ? level(number(point, "at_once"), number(point, "mb_per_second")) : Level{};
      if (known.at_once == 0 || known.rate == 0 || (!curve.empty() && known.at_once <= curve.back().at_once)) {
        return {};
      }
      curve.push_back(known);
    }
  }
  return curve;
}

bool remember_curve(const std::string& device, Direction direction, std::span<const Level> curve) {
  json points = json::array();
  for (const Level& level : curve) {
    points.push_back({{"at_once", level.at_once}, {"mb_per_second", level.rate}});
  }
  return change(device, {{curve_key(direction), std::move(points)}});
}

}  // namespace dovetail::device
