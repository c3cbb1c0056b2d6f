// The lock of a stage, and what the check of locks (base/thread_safety.hpp) knows of it.
#pragma once

#include "base/process_mutex.hpp"

namespace dovetail::staging {

/// It guards members of many objects, which cannot name the stage that they belong to. So the check knows one lock for all stages.
class CAPABILITY("lock of the stage") StageLock {};
inline StageLock stage_lock;

/// Held for a few instructions and copies, never during a transfer.
class StageMutex {
 public:
  // The check would want to see `stage_lock` itself locked.
  void lock() ACQUIRE(stage_lock) NO_THREAD_SAFETY_ANALYSIS { mutex_.lock(); }
  void unlock() noexcept RELEASE(stage_lock) NO_THREAD_SAFETY_ANALYSIS { mutex_.unlock(); }

 private:
  base::ProcessMutex mutex_;
};

/// Holds it as long as it lives.
class SCOPED_CAPABILITY Lock {
 public:
  explicit Lock(StageMutex& mutex) ACQUIRE(stage_lock) : mutex_(mutex) { mutex_.lock(); }
  ~Lock() RELEASE() {
    if (is_held_) {
      mutex_.unlock();
    }
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  /// Gives it back for good.
  void unlock() noexcept RELEASE() {
    is_held_ = false;
    mutex_.unlock();
  }

 private:
  StageMutex& mutex_;
  bool is_held_ = true;
};

/// Gives it back as long as it lives.
class SCOPED_CAPABILITY Unlocked {
 public:
  explicit Unlocked(StageMutex& mutex) RELEASE(stage_lock) : mutex_(mutex) { mutex_.unlock(); }
  ~Unlocked() RELEASE() { mutex_.lock(); }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  StageMutex& mutex_;
};

}  // namespace dovetail::staging
