#include "admission/memory.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/bounded_json.hpp"
#include "base/plain_file.hpp"

namespace dovetail::admission {
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

/// Closes what it holds, and with it gives the lock back.
class Lock {
 public:
  explicit Lock(const std::string& file)
      : descriptor_(base::open_plain_file(file, O_RDWR | O_CREAT, {.of_anyone = true}).descriptor) {
    if (descriptor_ >= 0 && flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      close(descriptor_);
      descriptor_ = -1;
    }
  }
  ~Lock() {
    if (descriptor_ >= 0) {
      close(descriptor_);
    }
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  bool held() const noexcept { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

bool change(const std::string& device, const json& fields) noexcept {
  try {
    const std::string file = memory_file();
    if (file.empty()) {
      return false;
    }
    std::error_code error;
    fs::create_directories(fs::path(file).parent_path(), error);
    const Lock lock(file + ".lock");
    if (!lock.held()) {
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

std::optional<AdaptiveLearner::Memory> recall_level(const std::string& device) {
  const json fields = entry(device);
  const double at_once = number(fields, "at_once");
  if (at_once < 1 || at_once > 65536) {
    return std::nullopt;
  }
  return AdaptiveLearner::Memory{static_cast<unsigned>(at_once), number(fields, "mb_per_second")};
}

bool remember_level(const std::string& device, const AdaptiveLearner::Memory& memory) {
  return change(device, {{"at_once", memory.at_once}, {"mb_per_second", memory.rate}});
}

double recall_bandwidth(const std::string& device, const std::string& direction) {
  return number(entry(device), "measured_" + direction);
}

bool remember_bandwidth(const std::string& device, const std::string& direction, double mb_per_second) {
  return change(device, {{"measured_" + direction, mb_per_second}});
}

}  // namespace dovetail::admission
