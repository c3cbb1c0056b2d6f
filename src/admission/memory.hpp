// What is remembered between runs: a small file in the user's folder of state.
#pragma once

#include <optional>
#include <string>

#include "admission/adaptive_learner.hpp"

namespace dovetail::admission {

/// The file: admission.json in $XDG_STATE_HOME/dovetail or ~/.local/state/dovetail. Empty where neither is known.
std::string memory_file();

/// @name What is known of a device
/// Reading never fails: a file that is damaged, of another version, larger than 4 MiB, another user's, or no regular file, is
/// ignored, with one warning on standard error for each process. No link is followed, and what is not the user's is not replaced. Writing puts one device's entry into what the file then holds, under a lock that goes with the process, and replaces the
/// file in one step, so that runs at the same time lose nothing and a crash leaves the old file or the new one. False: not
/// written, because somebody else holds the lock, the file is not ours or the
/// folder cannot be written.
/// @{
std::optional<AdaptiveLearner::Memory> recall_level(const std::string& device);
bool remember_level(const std::string& device, const AdaptiveLearner::Memory& memory);
/// MB/s that were measured in a direction ("read" or "write"); 0: not known.
double recall_bandwidth(const std::string& device, const std::string& direction);
bool remember_bandwidth(const std::string& device, const std::string& direction, double mb_per_second);
/// @}

}  // namespace dovetail::admission
