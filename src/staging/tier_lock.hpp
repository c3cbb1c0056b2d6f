// What the processes of a user do one at a time in a tier.
#pragma once

#include <string>

#include "staging/file_failure.hpp"
#include "staging/locked_descriptor.hpp"

namespace dovetail::staging {

/// Released by its destructor, also while the child of a fork has a copy of the descriptor.
struct TierLock {
  LockedDescriptor descriptor{};
  FileFailure failure;
};
/// One process of this user holds it at a time, while it takes folders that others have left of a file, or makes its own. So none takes a folder that
/// another one is about to open. `tier`: a folder. Blocks until no other process has it.
TierLock lock_tier(const std::string& tier);

/// Held from a look at which logs there are to what the final file says of the tier: no other lock is waited for with it, but the attributes of the final file are
/// read and set. The lock of the tier may be held meanwhile.
TierLock lock_marks(const std::string& tier);

}  // namespace dovetail::staging
