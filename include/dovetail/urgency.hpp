/// @file
/// Which requests go first where several wait for a storage device.
#pragma once

#include <cstdint>

namespace dovetail {

/// What a request is for (see `FileOptions::urgency`). The more urgent go first, and none starves. A request of a drain is overtaken by at
/// most 8 of the program, a prefetch by at most 16 others.
enum class Urgency : std::uint8_t {
  program,  ///< The program waits for it.
  drain,  ///< Writes out what the program does not wait for, such as a checkpoint. The program will wait if it never ends.
  prefetch,  ///< Reads what may never be needed.
};

}  // namespace dovetail
