#include "device/names.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <stdexcept>
#include <system_error>

#include "base/mutex.hpp"
#include "base/zero_byte.hpp"
#include "device/configuration.hpp"
#include "device/facts.hpp"
#include "device/host.hpp"
#include "device/measure.hpp"

namespace dovetail::device {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_known = 4096;

struct Table {
  base::ProcessMutex mutex;
  std::map<std::string, std::unique_ptr<Names>> by_file GUARDED_BY(mutex);
  std::map<std::string, Names*> by_setting GUARDED_BY(mutex);
  std::map<Device*, std::unique_ptr<NamedDevice>> found GUARDED_BY(mutex);  ///< Not configured.
};

// Never destroyed: tasks of runtimes that were given up may end at any time.
Table& table() {
  static auto* made = new Table;
  return *made;
}

// One measurement at a time: two would disturb each other. The child of a fork has another lock, since the thread that measures
// is not there.
base::Mutex& measuring() {
  static constinit std::atomic<base::Mutex*> mutex{nullptr};
  static const int registered = [] {
    mutex.store(new base::Mutex, std::memory_order_release);
    return pthread_atfork(nullptr, nullptr, [] { mutex.store(new base::Mutex, std::memory_order_release); });
  }();
  static_cast<void>(registered);
  return *mutex.load(std::memory_order_acquire);
}

bool leads_to(const std::string& folder, const std::string& path) noexcept {
  return folder == "/" || path == folder || (path.starts_with(folder) && path[folder.size()] == '/');
}

// The folder, or the folder of the file, or the nearest one above it that exists.
std::string nearest_folder(const fs::path& path) {
  std::error_code ignored;
  fs::path folder = path;
  while (!fs::is_directory(folder, ignored) && folder.has_relative_path()) {
    folder = folder.parent_path();
  }
  return folder.string();
}

// A device that is slow, or busy, shows nothing in the usual time: then it is given more.
std::vector<Level> measured(const std::string& folder, Direction direction) {
  MeasureOptions options;
  options.directions = {direction};
  options.blocks = {1 << 20};
  options.depths = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32};
  options.past_the_best = false;
  options.file_bytes = 64 << 20;
  std::vector<Level> curve;
  for (const int milliseconds : {500, 2000, 8000}) {
    options.total_limit = std::chrono::milliseconds(milliseconds);
    options.point_limit = options.total_limit / 10;
    for (const CurvePoint& point : measure(folder, options).points) {
      if (point.bytes_per_second > 0) {
        curve.push_back({point.depth, point.bytes_per_second / 1e6});
      }
    }
    if (!curve.empty()) {
      break;
    }
  }
  return curve;
}

}  // namespace

NamedDevice::NamedDevice(StorageDevice settings, std::string folder, Device& on)
    : settings_(std::move(settings)), folder_(std::move(folder)), device_(on) {}

StorageDevice NamedDevice::description() const {
  StorageDevice description = settings_;
  description.read_mb_per_second = known_bandwidth(Direction::read);
  description.write_mb_per_second = known_bandwidth(Direction::write);
  description.most_at_once = device_.most_at_once();
  return description;
}

double NamedDevice::known_bandwidth(Direction direction) const {
  const double given = direction == Direction::read ? settings_.read_mb_per_second : settings_.write_mb_per_second;
  return given > 0 ? given : highest_rate(device_.curve(direction));
}

double NamedDevice::bandwidth(Direction direction) const {
  const base::LockGuard one_at_a_time(measuring());
  if (const double known = known_bandwidth(direction); known > 0) {
    return known;
  }
  if (folder_.empty()) {
    throw std::invalid_argument("the " + std::string(name_of(direction)) + " bandwidth of device '" + name() +
                                "' is not known, and it has no paths where it could be measured; give it in "
                                "dovetail.toml, or use storage_bw = \"adaptive\", which needs none");
  }
  std::vector<Level> curve;
  std::string why = "nothing was measured in the time there is";
  try {
    curve = measured(folder_, direction);
  } catch (const std::exception& error) {
    why = error.what();
  }
  if (curve.empty()) {
    throw std::invalid_argument("the " + std::string(name_of(direction)) + " bandwidth of device '" + name() +
                                "' is not known and cannot be measured in '" + folder_ + "' (" + why +
                                "); give it in dovetail.toml, or use storage_bw = \"adaptive\", which needs none");
  }
  device_.set_curve(direction, curve);
  return highest_rate(curve);
}

bool NamedDevice::has_moving_heads() const noexcept {
  try {
    return facts_of(folder_).rotational.value_or(false);
  } catch (const std::exception&) {
    return false;
  }
}

Names& Names::of(const std::string& config) {
  Table& all = table();
  const base::LockGuard lock(all.mutex);
  // A program may change its environment between two runtimes.
  const char* const variable = config.empty() ? std::getenv("DOVETAIL_CONFIG") : nullptr;
  Names*& by_setting = all.by_setting[variable != nullptr ? variable : config];
  if (by_setting == nullptr) {
    const std::string file = configuration_file(config);
    std::unique_ptr<Names>& by_file = all.by_file[file];
    if (by_file == nullptr) {
      by_file.reset(new Names(file));
    }
    by_setting = by_file.get();
  }
  return *by_setting;
}

Names::Names(const std::string& file) {
  if (file.empty()) {
    return;
  }
  for (StorageDevice& settings : read_configuration(file)) {
    const std::string path = settings.paths.empty() ? std::string() : settings.paths.front();
    Device& on = path.empty() ? link_of(settings.name) : device_of(nearest_folder(path));
    configured_.push_back(new NamedDevice(std::move(settings), path, on));
    configure(file, *configured_.back());
  }
}

// A file is read once, so each contradiction is told once.
void Names::configure(const std::string& file, const NamedDevice& named) const {
  const unsigned most = named.settings().most_at_once;
  named.device().configure(most, named.settings().shared);
  const auto other = std::find_if(configured_.begin(), configured_.end(), [&](const NamedDevice* known) {
    const unsigned said = known->settings().most_at_once;
    return &known->device() == &named.device() && said != 0 && most != 0 && said != most;
  });
  if (other != configured_.end()) {
    std::fprintf(
        stderr,
        "dovetail: %s: devices '%s' and '%s' are one (%s), with different 'most_at_once': at most %u tasks use it "
        "at once, as the least of these says\n",
        file.c_str(), (*other)->name().c_str(), named.name().c_str(), named.device().key().c_str(),
        named.device().most_at_once());
  }
}

NamedDevice& Names::find(std::string_view name_or_path) {
  const std::string name(name_or_path);
  {
    const base::LockGuard lock(mutex_);
    if (const auto found = known_.find(name); found != known_.end()) {
      return *found->second;
    }
  }
  NamedDevice& named = look_up(name);
  const base::LockGuard lock(mutex_);
  if (known_.size() >= most_known) {
    known_.clear();
  }
  known_[name] = &named;
  return named;
}

NamedDevice* Names::longest_match(const std::string& path) const {
  NamedDevice* best = nullptr;
  std::size_t longest = 0;
  for (NamedDevice* named : configured_) {
    for (const std::string& folder : named->settings().paths) {
      if (leads_to(folder, path) && folder.size() > longest) {
        best = named;
        longest = folder.size();
      }
    }
  }
  return best;
}

NamedDevice& Names::look_up(const std::string& name) {
  if (base::has_zero_byte(name)) {
    throw std::invalid_argument("storage device '" + base::show_zero_bytes(name) +
                                "': a name or path must not contain a zero byte");
  }
  std::string names;
  for (NamedDevice* named : configured_) {
    if (name.empty() || named->name() == name) {
      return *named;
    }
    names += (names.empty() ? "" : ", ") + named->name();
  }
  std::error_code error;
  const fs::path given = name.empty() ? fs::path(".") : fs::path(name);
  if (name.find('/') == std::string::npos && !fs::exists(given, error)) {
    throw std::invalid_argument("there is no storage device '" + name + "': dovetail.toml " +
                                (names.empty() ? "names none" : "names " + names) +
                                ", and there is no such file or folder (a path with a '/' need not exist)");
  }
  // Absolute first: the relative name of what does not exist would stay relative.
  const fs::path path = fs::weakly_canonical(fs::absolute(given), error);
  if (error) {
    throw std::invalid_argument("storage device '" + name + "': " + error.message());
  }
  if (NamedDevice* const configured = longest_match(path.string())) {
    return *configured;
  }
  const std::string folder = nearest_folder(path);
  try {
    Device& on = device_of(folder);
    Table& all = table();
    const base::LockGuard lock(all.mutex);
    std::unique_ptr<NamedDevice>& found = all.found[&on];
    if (found == nullptr) {
      StorageDevice settings;
      const Facts facts = facts_of(folder);
      settings.name = facts.mount_point.empty() ? folder : facts.mount_point;
      settings.paths = {settings.name};
      settings.shared = facts.network;
      found = std::make_unique<NamedDevice>(std::move(settings), folder, on);
    }
    return *found;
  } catch (const std::system_error& problem) {
    throw std::invalid_argument("storage device '" + name + "': " + problem.what());
  }
}

}  // namespace dovetail::device

namespace dovetail {

std::vector<StorageDevice> storage_devices(const std::string& config) {
  std::vector<StorageDevice> devices;
  for (const device::NamedDevice* named : device::Names::of(config).configured()) {
    devices.push_back(named->description());
  }
  return devices;
}

StorageDevice storage_device(std::string_view name_or_path, const std::string& config, bool with_bandwidth) {
  const device::NamedDevice& named = device::Names::of(config).find(name_or_path);
  if (with_bandwidth) {
    for (const device::Direction direction : device::directions) {
      named.bandwidth(direction);
    }
  }
  return named.description();
}

}  // namespace dovetail
