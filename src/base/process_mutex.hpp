// A mutex for what there is one of in the process. The child of a fork has one thread: a lock that another one held at that
// instant would never be released there. So the thread that forks takes all of these first, and both sides release them.
#pragma once

#include "base/mutex.hpp"

namespace dovetail::base {

/// As `std::mutex`. A thread that holds one must not fork. It may take others, in any order that its users keep among
/// themselves.
class CAPABILITY("process mutex") ProcessMutex {
 public:
  ProcessMutex();
  ~ProcessMutex();
  ProcessMutex(const ProcessMutex&) = delete;
  ProcessMutex& operator=(const ProcessMutex&) = delete;

  void lock() ACQUIRE();
  bool try_lock() noexcept TRY_ACQUIRE(true);
  void unlock() noexcept RELEASE();

 private:
  struct All;
  static All& all();

  Mutex mutex_;
  ProcessMutex* next_ = nullptr;
  ProcessMutex* previous_ = nullptr;
};

}  // namespace dovetail::base
