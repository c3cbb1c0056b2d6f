// Which way bytes go.
#pragma once

#include <cstdint>

namespace dovetail::device {

enum class Direction : std::uint8_t {
  read,   ///< From the device.
  write,  ///< To the device.
};

inline constexpr Direction directions[] = {Direction::read, Direction::write};

inline const char* name_of(Direction direction) noexcept { return direction == Direction::read ? "read" : "write"; }

}  // namespace dovetail::device
