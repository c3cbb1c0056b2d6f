// How a file is staged: what its user may choose, and what its opener knows of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "staging/drain.hpp"
#include "staging/file_calls.hpp"
#include "staging/generation.hpp"

namespace dovetail::staging {

struct TierSettings {
  std::size_t segment_bytes = std::size_t{64} << 20;  ///< About so much space is given back at once. At most 2 GiB.
  DrainShape drain{};
  /// Most bytes that all logs of this user in the tier take. 0: what `usual_budget` says.
  std::uint64_t budget_bytes = 0;
  /// A log that has lost records that were durable is opened with what comes before them. Otherwise it is not opened.
  bool take_what_is_left = false;
  /// Other processes change the final file, too, each where the others do not: it has the size that they have given it, and this one changes that only
  /// by what it writes.
  bool shared = false;
  /// That the processes of a job have taken together (`take_generation`). Nothing: an opening takes one for itself.
  std::optional<Generation> generation{};
  /// The log is opened to be drained and removed, and no generation is taken.
  bool only_what_is_left = false;
  /// A log that was superseded is not refused, but takes its place again: what has come into the final file since may be overwritten.
  bool over_newer = false;
  /// Nothing is written before `begin_writing`: until then an empty log supersedes none.
  bool reads_only = false;
  FileCalls* calls = &FileCalls::system();  ///< Outlives the file.
};

/// The usual ones, with `DOVETAIL_TIER_BUDGET_MB`, in 2^20 bytes, and `DOVETAIL_DRAIN_BANDWIDTH`, in 10^6 bytes a second. @throws std::invalid_argument with a
/// sentence that names the variable
TierSettings settings_from_environment();

}  // namespace dovetail::staging
