/// @file
/// Finds what an earlier run has left, and loads the newest checkpoint that is complete and undamaged.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "block_io.hpp"
#include "checkpoint_format.hpp"
#include "dovetail/dovetail.hpp"
#include "field.hpp"
#include "options.hpp"

namespace heat {

/// A file of an earlier run, judged by its header and length only.
struct Candidate {
  std::string path;
  std::optional<std::size_t> slot;     ///< None for the final field.
  std::optional<CheckpointInfo> info;  ///< Present if it may be loaded.
  std::string reason;                  ///< Otherwise: why not. Empty if the file is not there or has never been used.
};

/// Looks at all slots and the final field; the most advanced candidates first. A file that cannot be read is a candidate
/// with a reason.
std::vector<Candidate> survey(const std::string& directory);

/// The slots in the order in which they are to be overwritten: unusable ones first, then the oldest.
std::vector<std::size_t> overwriting_order(const std::vector<Candidate>& candidates);

/// A field that was loaded.
struct Restored {
  Field field;
  std::uint64_t step;
  std::string path;
};

/// Loads a candidate by tasks, and verifies every block. If it is damaged, returns nothing and gives the reason.
std::optional<Restored> load(dovetail::Runtime& runtime, const BlockIo& io, dovetail::Direct direct,
                             const Candidate& candidate, std::string& reason);

/// Loads the newest candidate that is valid, telling on standard error about those that are not, and marks these so.
/// @throws BadInput when there is none, or when it does not fit the options.
Restored restart(dovetail::Runtime& runtime, const BlockIo& io, const Options& options,
                 std::vector<Candidate>& candidates);

}  // namespace heat
