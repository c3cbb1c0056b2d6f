// What the processes of a user do one at a time in a tier.
#pragma once

#include <string>

#include "base/descriptor.hpp"
#include "staging/file_failure.hpp"

namespace dovetail::staging {

/// As flock, and goes on after a signal. An errno, or 0.
int lock_file(int descriptor, int how) noexcept;

/// Released by its destructor, also while the child of a fork has a copy of the descriptor.
struct TierLock {
  TierLock() = default;
  TierLock(TierLock&&) noexcept = default;
  TierLock& operator=(TierLock&&) = delete;
  ~TierLock();

  base::Descriptor descriptor{-1};
  FileFailure failure;
};
/// Held by one process of this user at a time: while it recovers what others have left, or makes its folder, so that none takes the folder
/// that another one is about to open. `tier`: a folder. Blocks until no other process has it.
TierLock lock_tier(const std::string& tier);

/// Held from a look at which logs there are to what the final file says of the tier. Short; the lock of the tier may be held meanwhile.
TierLock lock_marks(const std::string& tier);

}  // namespace dovetail::staging
