// What a paused task waits for.
#pragma once

#include <cstdint>

namespace dovetail::tasking {

/// Why a task is paused; shown in the stuck report and in traces.
enum class WaitReason : std::uint8_t {
  none,
  io,
  children,
  task,
  resume,
  time,
  throttle,
  yield,
  exclusion,
  descriptor,
  semaphore,  ///< Or a mutex. This and the next two in a `WaitingLine`.
  latch,
  barrier,
  selection,  ///< The first of several things, or with a limit of time: a `Selection`, which says for what.
  operation,  ///< Of a source that the program made, which says what it is.
  /// In a call that does not know of tasks. The task goes on in the same thread even if it is not tied. Compiled code
  /// may keep the address of `errno` across the call.
  system_call,
};

}  // namespace dovetail::tasking
