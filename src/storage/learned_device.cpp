#include "storage/learned_device.hpp"

#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include <memory>
#include <utility>

#include "storage/file_system_kind.hpp"

namespace dovetail::storage {
namespace {

struct Table {
  base::ProcessMutex mutex;
  std::vector<std::unique_ptr<LearnedDevice>> devices;
};

// Never destroyed: files may be closed by the destructors of static objects.
Table& table() {
  static Table* made = [] {
    auto* fresh = new Table;
    fresh->devices.push_back(std::make_unique<LearnedDevice>(dev_t{0}, 0U, 0UL));
    return fresh;
  }();
  return *made;
}

unsigned long file_system_of(int descriptor) noexcept {
  struct statfs information{};
  return fstatfs(descriptor, &information) == 0 ? static_cast<unsigned long>(information.f_type) : 0;
}

template <std::size_t... i>
std::array<Learner, lanes> make_learners(std::index_sequence<i...>) {
  return {Learner(routes_of(static_cast<Lane>(i)), i == metadata)...};
}

}  // namespace

LearnedDevice::LearnedDevice(dev_t the_id, unsigned the_index, unsigned long file_system)
    : id(the_id),
      index(the_index),
      in_memory(keeps_files_in_memory(file_system)),
      caches_writes(caches_writes_by_itself(file_system)),
      learned(make_learners(std::make_index_sequence<lanes>())) {}

Lane lane_of(Kind kind, bool direct, std::uint64_t bytes) noexcept {
  if (!transfers(kind)) {
    return metadata;
  }
  return static_cast<Lane>((direct ? 4 : 0) + (writes(kind) ? 2 : 0) + (bytes > small_transfer ? 1 : 0));
}

const char* name_of(Lane lane) noexcept {
  static constexpr const char* names[] = {"buffered read, small",  "buffered read, large", "buffered write, small",
                                          "buffered write, large", "direct read, small",   "direct read, large",
                                          "direct write, small",   "direct write, large",  "metadata"};
  return names[lane];
}

std::array<Route, Learner::candidates> routes_of(Lane lane) noexcept {
  switch (lane) {
    case direct_read_small:
    case direct_write_small:
    case buffered_read_small:
      return {Route{false, 256}, Route{false, 32}, Route{true, 16}};
    case direct_read_large:
    case direct_write_large:
    case buffered_read_large:
      return {Route{false, 16}, Route{false, 64}, Route{true, 16}};
    case buffered_write_small:
    case buffered_write_large:
      return {Route{false, 16}, Route{true, 4}, Route{true, 16}};
    default:
      return {Route{false, 64}, Route{false, 64}, Route{true, 16}};
  }
}

LearnedDevice& device_of(dev_t id, int descriptor) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  for (std::size_t i = 1; i < all.devices.size(); ++i) {
    if (all.devices[i]->id == id) {
      return *all.devices[i];
    }
  }
  if (all.devices.size() < most_devices) {
    // The last entry is for all that have none of their own: nothing holds for each of them.
    const bool shared = all.devices.size() + 1 == most_devices;
    all.devices.push_back(std::make_unique<LearnedDevice>(id, static_cast<unsigned>(all.devices.size()),
                                                          shared ? 0UL : file_system_of(descriptor)));
  }
  return *all.devices.back();
}

LearnedDevice& no_device() { return *table().devices.front(); }

std::string explain() {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  std::string text;
  for (std::size_t i = 1; i < all.devices.size(); ++i) {
    LearnedDevice& device = *all.devices[i];
    const std::lock_guard device_lock(device.mutex);
    text += "device " + std::to_string(major(device.id)) + ":" + std::to_string(minor(device.id)) +
            (device.in_memory ? " (in memory)\n" : "\n");
    for (unsigned lane = 0; lane < metadata; ++lane) {
      text += std::string(" ") + name_of(static_cast<Lane>(lane)) + "\n" + device.learned[lane].explain();
    }
  }
  return text;
}

}  // namespace dovetail::storage
