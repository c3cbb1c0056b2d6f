// Calls that the library itself makes are not those of the program.
#pragma once

#include <cerrno>

namespace dovetail::interpose::staged {

/// As long as it lives, calls of this thread go to the C library.
class Within {
 public:
  Within() noexcept { ++depth; }
  ~Within() { --depth; }
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;
  static bool is_now() noexcept { return depth != 0; }

 private:
  [[gnu::tls_model("initial-exec")]] static inline constinit thread_local unsigned depth = 0;
};

/// errno is the program's: what is done for it here does not change it.
class KeptErrno {
 public:
  KeptErrno() noexcept : before_(errno) {}
  ~KeptErrno() { errno = before_; }
  KeptErrno(const KeptErrno&) = delete;
  KeptErrno& operator=(const KeptErrno&) = delete;

 private:
  int before_;
};

}  // namespace dovetail::interpose::staged
