// What `dovetail` knows of the devices that files lie on, for programs that must not ask (python/dovetail/replay.py asks, and writes it).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace dovetail::prefetching {

/// In memory that `dovetail` makes and others can write.
struct DeviceList {
  static constexpr std::size_t most = 128;
  struct Device {
    std::uint64_t number;
    std::uint32_t
        piece;  // bytes of one advice: the kernel cuts longer ones short; 0: there is no device behind these files
    std::uint32_t gap;  // bytes that cost less than a request
  };

  std::uint64_t count;
  std::array<Device, most> devices;

  Device of(std::uint64_t number) const noexcept {
    const auto* end = devices.data() + std::min<std::uint64_t>(count, most);
    const auto* found =
        std::find_if(devices.data(), end, [number](const Device& device) { return device.number == number; });
    return found != end ? *found : Device{number, 128U << 10, 256U << 10};  // mounted since, say
  }
};
static_assert(sizeof(DeviceList) == 8 + 16 * DeviceList::most);

}  // namespace dovetail::prefetching
