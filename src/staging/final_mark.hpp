// What a final file says of its logs: extended attributes, which go with the file when it is renamed, and end with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.hpp"
#include "staging/file_calls.hpp"
#include "staging/file_failure.hpp"
#include "staging/generation.hpp"

namespace dovetail::staging {

/// A folder in which logs lie, as users of other nodes know it.
struct TierName {
  std::string host;
  std::string path;  ///< Without symbolic links. A long one ends with a checksum.
  bool operator==(const TierName&) const = default;
};
/// Of this node. `path`: without symbolic links.
TierName tier_here(const std::string& path);

/// An open file. The descriptor is the caller's.
struct MarkedFile {
  FileCalls& calls;
  int descriptor = -1;
  const std::string& path;
};

/// To read it and its marks; a path that has become one of a pipe or a terminal does no harm. Less than 0, and `errno`: it cannot be opened.
base::Descriptor open_to_read_marks(const std::string& path);

/// A tier that may hold acknowledged bytes of the file that are not in it yet.
struct StagedTier {
  TierName tier;
  bool is_closed = false;  ///< The program has closed the file, and drains it in the background.
};

struct FinalMark {
  bool is_supported = true;         ///< False: the file system has no such attributes, and nothing is known.
  Generation generation{};          ///< In force. None: no opening has taken one yet.
  std::vector<StagedTier> tiers{};  ///< Of that generation, by their text.
  FileFailure failure{};

  /// A log of that generation must not be drained any more.
  bool supersedes(const Generation& log) const noexcept { return !generation.is_none() && generation != log; }
};
/// @throws std::bad_alloc
FinalMark read_mark(const MarkedFile& file);
/// Without the tiers.
FinalMark read_generation(const MarkedFile& file);

/// In one step. It is durable with the file. A file system without attributes is no failure.
FileFailure set_generation(const MarkedFile& file, const Generation& generation);
/// Removes the names of tiers that are of that generation, which has been superseded, and those that cannot be read. @throws std::bad_alloc
FileFailure remove_old_tiers(const MarkedFile& file, const Generation& superseded);

/// Names the tier. Where there is no space for another attribute, the file goes without: an opening elsewhere does not hear of the tier then.
FileFailure note_tier(const MarkedFile& file, const Generation& generation, const StagedTier& tier);
/// Unless it is named for another generation, or not at all.
FileFailure forget_tier(const MarkedFile& file, const Generation& generation, const TierName& tier);

/// "host:path"
std::string text_of(const TierName& tier);

}  // namespace dovetail::staging
