// The standard library's recursive mutex, known to the check of locks (thread_safety.hpp).
#pragma once

#include <mutex>

#include "base/mutex.hpp"

namespace dovetail::base {

/// The thread that holds it may take it again, in another function: clang's check does not look across calls.
class CAPABILITY("recursive mutex") RecursiveMutex {
 public:
  void lock() ACQUIRE() { mutex_.lock(); }
  void unlock() noexcept RELEASE() { mutex_.unlock(); }

 private:
  std::recursive_mutex mutex_;
};

}  // namespace dovetail::base
