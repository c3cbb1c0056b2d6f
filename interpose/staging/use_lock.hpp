// Many threads use a file at once, until one wants it alone: that one is next, though others come all the time.
#pragma once

#include <pthread.h>

#include "base/thread_safety.hpp"

namespace dovetail::interpose::staged {

/// As `base::SharedMutex`. A thread that has it must not take it again.
class CAPABILITY("lock of uses") UseLock {
 public:
  UseLock() noexcept {
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&lock_, &attributes);
    pthread_rwlockattr_destroy(&attributes);
  }
  ~UseLock() { pthread_rwlock_destroy(&lock_); }
  UseLock(const UseLock&) = delete;
  UseLock& operator=(const UseLock&) = delete;
  void lock() noexcept ACQUIRE() { pthread_rwlock_wrlock(&lock_); }
  void unlock() noexcept RELEASE() { pthread_rwlock_unlock(&lock_); }
  void lock_shared() noexcept ACQUIRE_SHARED() { pthread_rwlock_rdlock(&lock_); }
  void unlock_shared() noexcept RELEASE_SHARED() { pthread_rwlock_unlock(&lock_); }

 private:
  pthread_rwlock_t lock_;
};

}  // namespace dovetail::interpose::staged
