// Places in the code at which a process may end and a test ends it. Between two of them the state on disk changes once.
#pragma once

#include <array>
#include <cstddef>

namespace dovetail::staging {

/// Each has just happened, as far as the running kernel is concerned.
enum class CrashPoint : unsigned {
  folder_made,
  placement_written,
  segment_made,      ///< The file is there, and empty.
  segment_begun,     ///< Its header is written.
  tier_noted,        ///< The final file says which tier may hold bytes of it.
  generation_set,    ///< It says that logs of an earlier generation are superseded.
  old_tier_removed,  ///< It no longer names a tier whose logs are.
  record_appended,   ///< It is not in the index yet.
  log_synced,        ///< The caller has not been told.
  sync_noted,        ///< The log says that it was synced.
  drain_begun,       ///< The segments that will be drained take no more records.
  draining_noted,    ///< The log says from where on the final file will change, and need not be durable.
  final_cut,         ///< The final file was made shorter.
  piece_written,     ///< To the final file.
  final_grown,       ///< To its size.
  final_synced,      ///< The log still says that nothing was drained.
  drain_noted,       ///< The log says so, and may forget it.
  drain_durable,     ///< It does not forget it any more.
  segment_removed,   ///< One that was drained.
  tier_forgotten,    ///< The final file says that nothing is staged on this tier.
  discard_begun,     ///< The placement says so: nothing of the log counts any more.
  folder_emptied,    ///< Of segments; it is still known what it belongs to.
  placement_removed,
  folder_removed,
};

inline constexpr std::array crash_point_names = {
    "folder_made",      "placement_written", "segment_made",  "segment_begun",  "tier_noted",        "generation_set",
    "old_tier_removed", "record_appended",   "log_synced",    "sync_noted",     "drain_begun",       "draining_noted",
    "final_cut",        "piece_written",     "final_grown",   "final_synced",   "drain_noted",       "drain_durable",
    "segment_removed",  "tier_forgotten",    "discard_begun", "folder_emptied", "placement_removed", "folder_removed",
};

constexpr std::size_t crash_points = crash_point_names.size();
static_assert(crash_points == static_cast<std::size_t>(CrashPoint::folder_removed) + 1);

constexpr const char* name_of(CrashPoint point) noexcept { return crash_point_names[static_cast<std::size_t>(point)]; }

}  // namespace dovetail::staging
