#include "admission/devices.hpp"

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <stdexcept>

#include "admission/configuration.hpp"
#include "admission/memory.hpp"
#include "base/zero_byte.hpp"
#include "dovetail/failure.hpp"

namespace dovetail::admission {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_known = 4096;
constexpr double same_rate_within = 0.1;
// Tasks at once: each more costs the heads moves, four slow ones more than the others gain in the meantime.
constexpr unsigned first_of_moving_heads = 2;

struct AllDevices {
  std::mutex mutex;
  std::vector<std::unique_ptr<SharedDevice>> list;
  std::map<dev_t, SharedDevice*> found;  ///< Not configured.
  std::map<std::string, Devices*> by_file;
  std::map<std::string, Devices*> by_setting;
};
// Never destroyed: tasks of runtimes that were given up may end at any time. A thread of the parent may hold any lock when the
// process forks, so that the child begins anew.
constinit std::atomic<AllDevices*> the_devices{nullptr};

AllDevices& all() {
  static const int registered = [] {
    the_devices.store(new AllDevices, std::memory_order_release);
    return pthread_atfork(nullptr, nullptr, [] { the_devices.store(new AllDevices, std::memory_order_release); });
  }();
  static_cast<void>(registered);
  return *the_devices.load(std::memory_order_acquire);
}

const char* word(Direction direction) noexcept { return direction == Direction::read ? "read" : "write"; }

std::string host() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
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

// Whether the kernel says so; it also says so of virtual disks of which it knows nothing.
bool has_moving_heads(const std::string& folder) noexcept {
  try {
    return Device::of(folder).rotational.value_or(false);
  } catch (const std::exception&) {
    return false;
  }
}

// A device that is slow, or busy, shows nothing in the usual time: then it is given more.
double measured(const std::string& folder, Direction direction) {
  MeasureOptions options;
  options.directions = {direction};
  options.blocks = {1 << 20};
  options.depths = {4};
  options.file_bytes = 64 << 20;
  double best = 0;
  for (const int milliseconds : {500, 2000, 8000}) {
    options.total_limit = std::chrono::milliseconds(milliseconds);
    options.point_limit = options.total_limit * 2 / 5;
    for (const CurvePoint& point : measure(folder, options).points) {
      best = std::max(best, point.bytes_per_second);
    }
    if (best > 0) {
      break;
    }
  }
  return best / megabyte;
}

}  // namespace

SharedDevice::SharedDevice(StorageDevice description, std::string folder, std::string memory_key)
    : description_(std::move(description)),
      folder_(std::move(folder)),
      memory_key_(std::move(memory_key)),
      budget_(description_.name, description_.most_at_once) {}

StorageDevice SharedDevice::description() const {
  std::lock_guard lock(mutex_);
  return description_;
}

double& SharedDevice::place(Direction direction) noexcept {
  return direction == Direction::read ? description_.read_mb_per_second : description_.write_mb_per_second;
}

double SharedDevice::known_bandwidth(Direction direction) const {
  std::lock_guard lock(mutex_);
  return const_cast<SharedDevice*>(this)->place(direction);
}

double SharedDevice::bandwidth(Direction direction) {
  std::lock_guard one_at_a_time(measuring_);
  double value = known_bandwidth(direction);
  if (value > 0) {
    return value;
  }
  value = recall_bandwidth(memory_key_, word(direction));
  if (value <= 0) {
    std::string why = "nothing was measured in the time there is";
    try {
      value = measured(folder_, direction);
    } catch (const std::exception& error) {
      why = error.what();
    }
    if (value <= 0) {
      throw std::invalid_argument("the " + std::string(word(direction)) + " bandwidth of device '" + description_.name +
                                  "' is not known and cannot be measured in '" + folder_ + "' (" + why +
                                  "); give it in dovetail.toml, or use storage_bw = \"adaptive\", which needs none");
    }
    remember_bandwidth(memory_key_, word(direction), value);
  }
  std::lock_guard lock(mutex_);
  return place(direction) = value;
}

void SharedDevice::recall() {
  // Not std::call_once: it uses thread-local variables of libstdc++, which this library could not reach if somebody had loaded both late.
  if (recalled_.load(std::memory_order_acquire)) {
    return;
  }
  std::lock_guard lock(remembering_);
  if (recalled_.load(std::memory_order_relaxed)) {
    return;
  }
  if (const auto memory = recall_level(memory_key_)) {
    budget_.recall(*memory);
  } else if (has_moving_heads(folder_)) {
    budget_.begin_with(first_of_moving_heads);
  }
  recalled_.store(true, std::memory_order_release);  // pairs with the first load
}

void SharedDevice::remember() {
  std::lock_guard lock(remembering_);
  const AdaptiveLearner::Memory found = budget_.remember();
  const bool same_rate = std::abs(found.rate - remembered_.rate) <= same_rate_within * remembered_.rate;
  if ((found.at_once != remembered_.at_once || !same_rate) && remember_level(memory_key_, found)) {
    remembered_ = found;
  }
}

Devices& Devices::of(const std::string& config) {
  AllDevices& shared = all();
  std::lock_guard lock(shared.mutex);
  // A program may change its environment between two runtimes.
  const char* const variable = config.empty() ? std::getenv("DOVETAIL_CONFIG") : nullptr;
  Devices*& by_setting = shared.by_setting[variable != nullptr ? variable : config];
  if (by_setting == nullptr) {
    const std::string file = configuration_file(config);
    Devices*& by_file = shared.by_file[file];
    if (by_file == nullptr) {
      by_file = new Devices(file);
    }
    by_setting = by_file;
  }
  return *by_setting;
}

void Devices::for_each(const std::function<void(SharedDevice&)>& visit) {
  std::vector<SharedDevice*> devices;
  {
    std::lock_guard lock(all().mutex);
    for (const auto& device : all().list) {
      devices.push_back(device.get());
    }
  }
  for (SharedDevice* device : devices) {
    visit(*device);
  }
}

// Under the lock of all devices.
Devices::Devices(const std::string& file) {
  if (file.empty()) {
    return;
  }
  for (StorageDevice& description : read_configuration(file)) {
    const std::string folder = description.paths.empty() ? std::string() : description.paths.front();
    std::string key = "device " + description.name + " " + folder + (description.shared ? "" : " at " + host());
    all().list.push_back(std::make_unique<SharedDevice>(std::move(description), folder, std::move(key)));
    configured_.push_back(all().list.back().get());
  }
}

std::vector<StorageDevice> Devices::configured() const {
  std::vector<StorageDevice> result;
  result.reserve(configured_.size());
  for (const SharedDevice* device : configured_) {
    result.push_back(device->description());
  }
  return result;
}

SharedDevice& Devices::find(std::string_view name_or_path) {
  const std::string name(name_or_path);
  {
    std::shared_lock lock(mutex_);
    if (const auto found = known_.find(name); found != known_.end()) {
      return *found->second;
    }
  }
  SharedDevice& device = look_up(name);
  std::lock_guard lock(mutex_);
  if (known_.size() >= most_known) {
    known_.clear();
  }
  known_[name] = &device;
  return device;
}

SharedDevice& Devices::look_up(const std::string& name) {
  if (base::has_zero_byte(name)) {
    throw std::invalid_argument("storage device '" + base::show_zero_bytes(name) +
                                "': a name or path must not contain a zero byte");
  }
  std::string names;
  for (SharedDevice* device : configured_) {
    if (name.empty() || device->description().name == name) {
      return *device;
    }
    names += (names.empty() ? "" : ", ") + device->description().name;
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
  SharedDevice* best = nullptr;
  std::size_t longest = 0;
  for (SharedDevice* device : configured_) {
    for (const std::string& folder : device->description().paths) {
      if (leads_to(folder, path.string()) && folder.size() > longest) {
        best = device;
        longest = folder.size();
      }
    }
  }
  if (best != nullptr) {
    return *best;
  }
  const std::string folder = nearest_folder(path);
  struct stat status{};
  if (stat(folder.c_str(), &status) != 0) {
    throw std::invalid_argument("storage device '" + name + "': " + std::generic_category().message(errno));
  }
  AllDevices& shared = all();
  std::lock_guard lock(shared.mutex);
  SharedDevice*& found = shared.found[status.st_dev];
  if (found == nullptr) {
    StorageDevice description;
    std::string key = "path " + folder + " at " + host();
    try {
      const Device device = Device::of(folder);
      description.paths = {device.mount_point};
      description.shared = device.network;
      description.name = device.mount_point;
      key = "mount " + device.mount_point + " of " + device.source + " at " + host();
    } catch (const IoError&) {
      description.paths = {folder};
      description.name = folder;
    }
    shared.list.push_back(std::make_unique<SharedDevice>(std::move(description), folder, std::move(key)));
    found = shared.list.back().get();
  }
  return *found;
}

}  // namespace dovetail::admission

namespace dovetail {

std::vector<StorageDevice> storage_devices(const std::string& config) {
  return admission::Devices::of(config).configured();
}

StorageDevice storage_device(std::string_view name_or_path, const std::string& config, bool with_bandwidth) {
  admission::SharedDevice& device = admission::Devices::of(config).find(name_or_path);
  if (with_bandwidth) {
    device.bandwidth(Direction::read);
    device.bandwidth(Direction::write);
  }
  return device.description();
}

}  // namespace dovetail
