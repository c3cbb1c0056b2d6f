// In which pieces the kernel reads ahead from a device, and what a request of it costs.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace dovetail::device {

struct RequestFacts {
  std::uint64_t advised =
      0;  ///< Bytes of one advice to read ahead: the kernel cuts longer ones short. A multiple of 4096.
  std::uint64_t of_request = 0;  ///< Bytes that the device reads in the time of a request.
  std::uint64_t read_ahead = 0;  ///< Bytes that the kernel reads ahead of a program by itself.
};

/// What the kernel says of the device with this number, or what holds for most where it says nothing. It is asked once for each device.
/// Thread-safe.
RequestFacts request_facts_of(dev_t id);

}  // namespace dovetail::device
