// Calls that the library itself makes are not those of the program.
#pragma once

#include <pthread.h>

#include <cerrno>

#include "held_signals.hpp"
#include "storage/uninterposed.hpp"

namespace dovetail::interpose::staged {

/// As long as it lives, the thread is not cancelled: nothing may be left half done.
class NotCancelled {
 public:
  NotCancelled() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NotCancelled() { pthread_setcancelstate(before_, nullptr); }
  NotCancelled(const NotCancelled&) = delete;
  NotCancelled& operator=(const NotCancelled&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

/// As long as it lives, calls of this thread go to the C library, and it takes no signals.
class Within {
 public:
  Within() noexcept = default;
  ~Within() = default;
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;
  /// Also of a thread that drains behind the program.
  static bool is_now() noexcept { return storage::Uninterposed::is_now(); }

 private:
  NotCancelled whole_;
  HeldSignals signals_;
  storage::Uninterposed own_;
};

/// errno is the program's: what is done for it here does not change it.
class KeptErrno {
 public:
  KeptErrno() noexcept : before_(errno) {}
  ~KeptErrno() { errno = before_; }
  KeptErrno(const KeptErrno&) = delete;
  KeptErrno& operator=(const KeptErrno&) = delete;
  /// The call has failed with this one.
  void replace(int error) noexcept { before_ = error; }

 private:
  int before_;
};

/// What a call returns that has failed.
inline int fail(int error) noexcept {
  errno = error;
  return -1;
}
/// 0, or that it has failed.
inline int result_of(int error) noexcept { return error != 0 ? fail(error) : 0; }

}  // namespace dovetail::interpose::staged
