// A mutex for what there is one of in the process. The child of a fork has one thread: a lock that another one held at that
// instant would never be released there. So the thread that forks takes all of these first, and both sides release them.
#pragma once

#include <mutex>

namespace dovetail::base {

/// As `std::mutex`. Whoever holds one must not fork; it may take others, in any order that its users keep among themselves.
class ProcessMutex {
 public:
  ProcessMutex();
  ~ProcessMutex();
  ProcessMutex(const ProcessMutex&) = delete;
  ProcessMutex& operator=(const ProcessMutex&) = delete;

  void lock();
  bool try_lock() noexcept;
  void unlock() noexcept;

 private:
  struct All;
  static All& all();

  std::mutex mutex_;
  ProcessMutex* next_ = nullptr;
  ProcessMutex* previous_ = nullptr;
};

}  // namespace dovetail::base
