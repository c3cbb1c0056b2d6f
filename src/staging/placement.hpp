// Which file a folder of the local tier belongs to. It lies in the folder: a process that finds that knows where its bytes go.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "staging/file_calls.hpp"
#include "staging/file_failure.hpp"
#include "staging/generation.hpp"
#include "staging/log_folder.hpp"
#include "staging/log_record.hpp"

namespace dovetail::staging {

/// What a file is recognised by when its name is not enough. Not the number of its device: on a network file system each mount has another one.
struct FileIdentity {
  std::uint64_t inode = 0;
  std::int64_t born_seconds = 0;  ///< Since 1970; 0 where the file system does not say.
  std::uint32_t born_nanoseconds = 0;
  bool operator==(const FileIdentity&) const = default;
};

struct Placement {
  std::string final_path{};  ///< Absolute; any bytes but NUL.
  FileIdentity final_file{};
  LogIdentity log = 0;
  Generation
      generation{};  ///< None: it was written by a version that knew of none, or the file system of the final file cannot keep one.
  bool operator==(const Placement&) const = default;
};

inline constexpr const char* placement_name = "placement";
/// Of one that is being written.
inline constexpr const char* new_placement_name = "placement.new";
/// Of a log that is being discarded: nothing of it counts any more.
inline constexpr const char* discarded_placement_name = "placement.discarded";

/// Of an empty file beside it: the process that has the folder drains it in the background, and will leave it.
inline constexpr const char* closed_name = "closed";

std::string text_of(const Placement& placement);
/// Nothing: it is none, not whole, or of a newer version of the format.
std::optional<Placement> placement_of(std::string_view text);

/// Of an open file. @param failure what went wrong, if something did
FileIdentity identity_of(int descriptor, const std::string& path, FileFailure& failure);

/// Writes it into the folder, in one step and durably. Blocks.
FileFailure write_placement(FileCalls& calls, const LogFolder& folder, const Placement& placement);

/// Gives it another name, in one step and durably: no process takes it for one from then on. One that is not there is no failure. Blocks.
FileFailure discard_placement(FileCalls& calls, const LogFolder& folder);
/// A process has, and was killed before all was removed.
bool is_discarded(const LogFolder& folder);

/// Removes it, and the folder unless it is kept, which has no segments any more. Takes the lock of `lock_marks`.
FileFailure remove_placement(FileCalls& calls, const LogFolder& folder, bool keeps_folder = false);

struct FoundPlacement {
  std::optional<Placement> placement;  ///< Nothing, without a failure: the folder has none.
  FileFailure failure;
};
FoundPlacement read_placement(const std::string& folder);
/// Of a folder that has segments and no placement: it is not known where their bytes go.
FileFailure missing_placement(const std::string& folder);

/// Where in the tier, which exists, the log of a file is: a folder that is named after the file, and by a checksum of its path. Both paths are without
/// symbolic links. Whether the folder exists is another matter.
struct FolderName {
  std::string folder;
  std::string final_path{};  ///< The path without symbolic links.
  FileFailure failure;       ///< There is no such file, or no such tier.
};
FolderName folder_of(const std::string& tier, const std::string& final_path);

}  // namespace dovetail::staging
