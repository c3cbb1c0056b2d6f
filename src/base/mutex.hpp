// The standard library's mutexes, locks and condition variable, known to the check of locks (thread_safety.hpp).
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>

#include "base/thread_safety.hpp"

namespace dovetail::base {

class CAPABILITY("mutex") Mutex {
 public:
  void lock() ACQUIRE() { mutex_.lock(); }
  bool try_lock() noexcept TRY_ACQUIRE(true) { return mutex_.try_lock(); }
  void unlock() noexcept RELEASE() { mutex_.unlock(); }

 private:
  friend class UniqueLock;
  std::mutex mutex_;
};

/// As `std::shared_mutex`: many threads read what one changes.
class CAPABILITY("mutex") SharedMutex {
 public:
  void lock() ACQUIRE() { mutex_.lock(); }
  void unlock() noexcept RELEASE() { mutex_.unlock(); }
  void lock_shared() ACQUIRE_SHARED() { mutex_.lock_shared(); }
  void unlock_shared() noexcept RELEASE_SHARED() { mutex_.unlock_shared(); }

 private:
  std::shared_mutex mutex_;
};

/// As `std::lock_guard`, for any lock of this room.
template <class Lockable>
class SCOPED_CAPABILITY LockGuard {
 public:
  explicit LockGuard(Lockable& lockable) ACQUIRE(lockable) : lockable_(lockable) { lockable_.lock(); }
  /// It is held already, by the calling thread.
  LockGuard(Lockable& lockable, std::adopt_lock_t) REQUIRES(lockable) : lockable_(lockable) {}
  ~LockGuard() RELEASE() { lockable_.unlock(); }
  LockGuard(const LockGuard&) = delete;
  LockGuard& operator=(const LockGuard&) = delete;

 private:
  Lockable& lockable_;
};

/// As `std::shared_lock`, from its beginning to its end.
template <class Lockable>
class SCOPED_CAPABILITY SharedLock {
 public:
  explicit SharedLock(Lockable& lockable) ACQUIRE_SHARED(lockable) : lockable_(lockable) { lockable_.lock_shared(); }
  ~SharedLock() RELEASE() { lockable_.unlock_shared(); }
  SharedLock(const SharedLock&) = delete;
  SharedLock& operator=(const SharedLock&) = delete;

 private:
  Lockable& lockable_;
};

/// As `std::unique_lock`: it may be given back and taken again, and waited with.
class SCOPED_CAPABILITY UniqueLock {
 public:
  explicit UniqueLock(Mutex& mutex) ACQUIRE(mutex) : lock_(mutex.mutex_) {}
  ~UniqueLock() RELEASE() = default;
  UniqueLock(const UniqueLock&) = delete;
  UniqueLock& operator=(const UniqueLock&) = delete;

  void lock() ACQUIRE() { lock_.lock(); }
  void unlock() RELEASE() { lock_.unlock(); }

 private:
  friend class ConditionVariable;
  std::unique_lock<std::mutex> lock_;
};

/// As `std::condition_variable`.
class ConditionVariable {
 public:
  void notify_one() noexcept { changed_.notify_one(); }
  void notify_all() noexcept { changed_.notify_all(); }
  void wait(UniqueLock& lock) { changed_.wait(lock.lock_); }
  template <class Clock, class Duration>
  void wait_until(UniqueLock& lock, const std::chrono::time_point<Clock, Duration>& deadline) {
    changed_.wait_until(lock.lock_, deadline);
  }

 private:
  std::condition_variable changed_;
};

}  // namespace dovetail::base
