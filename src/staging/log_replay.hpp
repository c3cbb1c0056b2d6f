// What of a log counts after the process that wrote it has ended, at whatever instant.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "staging/file_failure.hpp"
#include "staging/log_scan.hpp"
#include "staging/log_segment.hpp"

namespace dovetail::staging {

/// A segment that was found in the folder, and what is whole in it.
struct FoundSegment {
  std::shared_ptr<LogSegment> segment;
  SegmentScan scan;
};

struct ReplayedRecord {
  RecordHeader header;
  std::uint32_t segment = 0;
  std::uint64_t position = 0;  ///< Of its data, in the segment.
};

struct Replay {
  std::vector<ReplayedRecord> records;  ///< Without a gap between their numbers, behind `drained`.
  std::uint64_t drained = 0;            ///< Up to here all is durable in the final file.
  std::uint64_t next_sequence = 1;      ///< Behind the last record.
  std::uint64_t durable = 0;            ///< The highest number that any header says to be durable.
  /// A drain that has not ended has changed the final file from there on, and not all of it may be in the log.
  std::optional<std::uint64_t> draining_from{};
  /// Records that were durable are not there, or were changed. What comes before them is in `records`.
  FileFailure damage;
};

/// The segments are in the order of their numbers. The records that count are those that follow each other without a gap: a write that comes after
/// one that is lost is none, so that the file is as it was at some instant. @throws std::bad_alloc
Replay replay(const std::vector<FoundSegment>& segments);

}  // namespace dovetail::staging
