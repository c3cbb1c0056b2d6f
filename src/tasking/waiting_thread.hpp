// What a thread of the program does while it waits for tasks.
#pragma once

#include "base/clock.hpp"
#include "dovetail/detail/body.hpp"
#include "tasking/interrupt_look.hpp"

namespace dovetail::tasking {

using detail::RuntimeCore;
class Service;

/// It asks for signals, as the thread's `look` does, and polls the service that no other thread may poll. Of one wait.
class WaitingThread {
 public:
  /// `core`: whose tasks it waits for; null: of several runtimes, or of none.
  explicit WaitingThread(RuntimeCore* core) noexcept;
  /// When `look` is due. It may be earlier when the thread has been woken. max(): there is nothing to look for.
  base::TimePoint next_look() const noexcept;
  /// Not under a lock. @returns Whether the wait is to end by `WaitInterrupted`, even if what is waited for has happened.
  bool look();

 private:
  Service* resident() const noexcept;

  RuntimeCore* const core_;
  bool (*const interrupt_look_)();
  base::TimePoint next_interrupt_look_;
};

}  // namespace dovetail::tasking
