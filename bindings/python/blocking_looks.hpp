// What is known of the bodies of one function, as far as they hold workers while they wait in the operating system (blocking_bodies.hpp).
#pragma once

#include <atomic>
#include <cstdint>

namespace dovetail::python {

/// What was seen of the bodies of one function.
struct BlockingLooks {
  std::atomic<std::uint32_t> short_bodies{0};  ///< Since the last long one, as far as they were looked at.
  std::atomic<bool> told{false};
  // All below under the lock of the thread that looks.
  std::uint32_t looks = 0;
  std::uint32_t waiting = 0;        ///< Of `looks`: in a call of the operating system on a file, a network or a time.
  const char* last_call = nullptr;  ///< The name of the last such call.
};

}  // namespace dovetail::python
