// The mutex of the public interface, known to the check of locks (base/thread_safety.hpp), of which public headers know nothing.
#pragma once

#include "base/mutex.hpp"
#include "dovetail/synchronization.hpp"

namespace dovetail::tasking {

/// A task that waits for it pauses. For `base::LockGuard`; it may be held across a pause.
class CAPABILITY("mutex") PausingMutex {
 public:
  void lock() ACQUIRE() { mutex_.lock(); }
  bool try_lock() TRY_ACQUIRE(true) { return mutex_.try_lock(); }
  void unlock() RELEASE() { mutex_.unlock(); }

 private:
  Mutex mutex_;
};

}  // namespace dovetail::tasking
