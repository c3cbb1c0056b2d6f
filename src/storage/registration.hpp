// What rings have answered to the offer of a buffer or of a file.
#pragma once

#include <atomic>
#include <cerrno>

#include "dovetail/registration.hpp"

namespace dovetail::storage {

struct RegistrationState {
  bool accepted = false;  ///< By some ring.
  int error = 0;          ///< Of the last ring that refused, an errno; 0 if none did.

  Registration summary() const noexcept {
    return error != 0 ? Registration::refused : accepted ? Registration::accepted : Registration::none;
  }
  RegistrationState& operator|=(const RegistrationState& other) noexcept {
    accepted |= other.accepted;
    error = error != 0 ? error : other.error;
    return *this;
  }
};

/// Thread-safe.
class RegistrationAnswers {
 public:
  void forget() noexcept {
    accepted_.store(false, std::memory_order_relaxed);
    error_.store(0, std::memory_order_relaxed);
  }
  /// @param error Why the ring refused, an errno; 0: it accepted.
  void note(int error) noexcept {
    if (error == 0) {
      accepted_.store(true, std::memory_order_relaxed);
    } else {
      error_.store(error, std::memory_order_relaxed);
    }
  }
  RegistrationState state() const noexcept {
    return {accepted_.load(std::memory_order_relaxed), error_.load(std::memory_order_relaxed)};
  }

 private:
  std::atomic<bool> accepted_{false};
  std::atomic<int> error_{0};
};

/// The errno in what functions of liburing return that should have registered one thing.
constexpr int registration_error(int result) noexcept { return result == 1 ? 0 : result < 0 ? -result : EINVAL; }

}  // namespace dovetail::storage
