// Reading a segment of the log that a process may have left at any instant.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "staging/file_calls.hpp"
#include "staging/file_failure.hpp"
#include "staging/log_record.hpp"
#include "staging/log_segment.hpp"

namespace dovetail::staging {

struct ScannedRecord {
  RecordHeader header;
  std::uint64_t position = 0;  ///< Of its data, in the segment.
};

/// What is whole in a segment.
struct SegmentScan {
  std::optional<SegmentHeader> header;  ///< Nothing: not even that is whole, and there are no records.
  std::vector<ScannedRecord> records;   ///< Up to the first that is torn.
  std::uint64_t whole_bytes = 0;        ///< Of header and records. What lies behind is torn.
  std::uint64_t bytes = 0;              ///< Of the file.
  std::uint64_t durable =
      0;  ///< Up to this sequence number all was durable once, as any header says, also behind a torn record.
  std::uint64_t drained = 0;  ///< Likewise: was durable in the final file.
  bool has_note = false;      ///< Of a drain that has ended.
  /// Behind all notes it says that a drain has begun to write there.
  std::optional<std::uint64_t> draining_from;

  bool is_torn() const noexcept { return whole_bytes != bytes; }
};

/// Reads and checks all of it. A segment that is torn is no failure; one that cannot be read is. Holds at most one record's data in memory at a
/// time. From any thread. @throws std::bad_alloc
FileFailure scan(FileCalls& calls, const LogSegment& segment, LogIdentity log, SegmentScan& result);

}  // namespace dovetail::staging
