/// @file
/// Finds what an earlier run has left, and loads the newest checkpoint that is complete and undamaged.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "block_io.hpp"
#include "checkpoint_format.hpp"
#include "dovetail/dovetail.hpp"
#include "field.hpp"
#include "options.hpp"
#include "part.hpp"

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

/// A run that begins afresh overwrites nothing of use. @throws BadInput naming a file that is complete.
void require_nothing_complete(const std::vector<Candidate>& candidates);

/// The slots in the order in which they are to be overwritten: unusable ones first, then the oldest.
std::vector<std::size_t> overwriting_order(const std::vector<Candidate>& candidates);

/// How the processes of one program load, each its part. As it is, for a process that is alone.
struct Together {
  PartOf part = Part::all;
  /// Whether something holds in all processes; each says whether it does in its own.
  std::function<bool(bool)> all = [](bool mine) { return mine; };
  bool tells = true;  ///< Whether this process tells about files that are of no use.
};

/// A part of a field that was loaded, by default all of it.
struct Restored {
  Field field;
  Part part;
  std::uint64_t step;
  std::string path;
};

/// Loads a part of a candidate by tasks, and verifies each of its blocks. If it is damaged, returns nothing and gives the reason.
std::optional<Restored> load(dovetail::Runtime& runtime, const BlockIo& io, dovetail::Direct direct,
                             const Candidate& candidate, std::string& reason, const PartOf& part_of = Part::all);

/// Loads the newest candidate that is valid, telling on standard error about those that are not, and marks these so.
/// @throws BadInput when there is none, or when it does not fit the options.
Restored restart(dovetail::Runtime& runtime, const BlockIo& io, const Options& options,
                 std::vector<Candidate>& candidates, const Together& together = {});

}  // namespace heat
