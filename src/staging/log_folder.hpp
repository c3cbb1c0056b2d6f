// The folder of a log on the local tier.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "staging/file_calls.hpp"
#include "staging/file_failure.hpp"
#include "staging/locked_descriptor.hpp"

namespace dovetail::staging {

/// As long as it lives, no other process has it.
struct LogFolder {
  std::string path;
  LockedDescriptor descriptor{};
};

struct OpenedFolder {
  LogFolder folder;
  FileFailure failure;  ///< `EBUSY`: another process has it. `EPERM`: others could write into it.
};

/// `make`: if there is none, for this user alone; its name is durable then. It must be a folder of this user's, which no other may change, and no symbolic link.
OpenedFolder open_log_folder(FileCalls& calls, const std::string& path, bool make);

/// Makes the name of the folder itself durable: the process that made it may have been killed before that. Blocks.
FileFailure sync_name_of(FileCalls& calls, const std::string& path);

/// Makes the names in it durable. Blocks.
FileFailure sync_names(FileCalls& calls, const LogFolder& folder);

/// Numbers of the segments in it, in their order.
std::vector<std::uint32_t> segment_numbers(const LogFolder& folder, FileFailure& failure);

/// A file that is given up where a full tier has no space for the record that lets space be given back.
inline constexpr const char* reserve_name = "reserve";
/// Segments have no higher number.
inline constexpr std::uint32_t most_segments = INT32_MAX;
/// "00000001.log"
std::string segment_name(std::uint32_t number);

/// Removes the folder, unless others have put something into it. Nothing of a log is in it any more.
FileFailure remove_log_folder(FileCalls& calls, const LogFolder& folder);

}  // namespace dovetail::staging
