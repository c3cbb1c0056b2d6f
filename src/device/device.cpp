#include "device/device.hpp"

#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "base/mount_table.hpp"
#include "device/failure.hpp"
#include "device/file_system.hpp"
#include "device/host.hpp"
#include "device/remembered.hpp"

namespace dovetail::device {
namespace {

struct Table {
  Device none{dev_t{0}, 0U, 0UL};
  base::ProcessMutex mutex;
  std::vector<std::unique_ptr<Device>> devices GUARDED_BY(mutex);  ///< From index 1 on.
  std::map<std::string, Device> links GUARDED_BY(mutex);
};

// Never destroyed: files may be closed by the destructors of static objects.
Table& table() {
  static Table* made = new Table;
  return *made;
}

std::string number_of(dev_t id) { return std::to_string(major(id)) + ":" + std::to_string(minor(id)); }

template <std::size_t... kind>
std::array<RequestLevel, request_kinds> make_levels(bool fixed, std::index_sequence<kind...>) {
  return {RequestLevel(first_route(static_cast<RequestKind>(kind)), fixed)...};
}

template <class GetType>
Device& find_or_make(dev_t id, GetType&& type) {
  Table& all = table();
  const base::LockGuard lock(all.mutex);
  for (const std::unique_ptr<Device>& device : all.devices) {
    if (device->id == id) {
      return *device;
    }
  }
  const auto index = static_cast<unsigned>(all.devices.size() + 1);
  if (index < most_devices) {
    // The last one is for all that have none of their own: nothing holds for each of them.
    const bool shared = index + 1 == most_devices;
    all.devices.push_back(std::make_unique<Device>(id, index, shared ? 0UL : type()));
  }
  return *all.devices.back();
}

}  // namespace

Device::Device(dev_t the_id, unsigned the_index, unsigned long file_system)
    : id(the_id),
      index(the_index),
      in_memory(keeps_files_in_memory(file_system)),
      caches_writes(caches_writes_by_itself(file_system)),
      reserves_space(device::reserves_space(file_system)),
      requests_(make_levels(in_memory, std::make_index_sequence<request_kinds>())) {}

Device::Device(const std::string& link) : Device(dev_t{0}, 0U, 0UL) {
  key_of_all_hosts_ = "device " + link;
  key_ = key_of_all_hosts_ + " at " + host();
  recalled_ = true;
}

void Device::configure(unsigned most, bool shared) noexcept {
  unsigned before = most_at_once();
  while (most != 0 && (before == 0 || most < before) &&
         !most_at_once_.compare_exchange_weak(before, most, std::memory_order_relaxed)) {
  }
  if (shared) {
    shared_.store(true, std::memory_order_relaxed);
  }
}

void Device::recall() const {
  if (std::exchange(recalled_, true)) {
    return;
  }
  const std::string number = number_of(id);
  key_ = "file system " + number + " at " + host();
  key_of_all_hosts_ = key_;  // Another host gives the number to another file system.
  for (const base::Mount& mount : base::mounts_now()) {
    if (mount.number == number) {
      key_of_all_hosts_ = "mount " + mount.mount_point + " of " + mount.source;
      key_ = key_of_all_hosts_ + " at " + host();
      break;
    }
  }
  for (const Direction direction : directions) {
    curves_[static_cast<unsigned>(direction)] = recall_curve(key_, direction);
  }
}

const std::string& Device::key() const {
  const base::LockGuard lock(mutex_);
  recall();
  return key_;
}

const std::string& Device::level_key() const {
  const base::LockGuard lock(mutex_);
  recall();
  return shared_.load(std::memory_order_relaxed) ? key_of_all_hosts_ : key_;
}

std::vector<Level> Device::curve(Direction direction) const {
  const base::LockGuard lock(mutex_);
  recall();
  return curves_[static_cast<unsigned>(direction)];
}

void Device::set_curve(Direction direction, std::vector<Level> curve) {
  remember_curve(key(), direction, curve);
  const unsigned depth = knee(curve).at_once;
  if (depth > 0) {
    const bool reads = direction == Direction::read;
    requests_[reads ? direct_read_large : direct_write_large].begin_with(depth);
    requests_[reads ? buffered_read_large : buffered_write_large].begin_with(depth);
  }
  const base::LockGuard lock(mutex_);
  curves_[static_cast<unsigned>(direction)] = std::move(curve);
}

Device& device_of(dev_t id, int descriptor) {
  return find_or_make(id, [descriptor] {
    struct statfs information{};
    return fstatfs(descriptor, &information) == 0 ? static_cast<unsigned long>(information.f_type) : 0UL;
  });
}

Device& device_of(const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) {
    fail(errno, "stat", path);
  }
  return find_or_make(status.st_dev, [&path] {
    struct statfs information{};
    return statfs(path.c_str(), &information) == 0 ? static_cast<unsigned long>(information.f_type) : 0UL;
  });
}

Device& no_device() { return table().none; }

Device& link_of(const std::string& name) {
  Table& all = table();
  const base::LockGuard lock(all.mutex);
  return all.links.try_emplace(name, name).first->second;
}

}  // namespace dovetail::device
