#include "staging/opened_log.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <random>
#include <utility>

namespace dovetail::staging {
namespace {

LogIdentity new_identity() {
  std::random_device random;
  return LogIdentity{random()} << 32 | random();
}

FileFailure mismatch(const Placement& found, const Placement& expected, const std::string& folder) {
  FileFailure failure{
      .error = ESTALE, .operation = "use", .path = folder + "/" + placement_name, .offset = 0, .why = {}};
  if (found.final_path != expected.final_path) {
    failure.why = "it belongs to " + found.final_path;
  } else if (found.final_file != expected.final_file) {
    failure.why = "the file that it belongs to was replaced by another one of the same name";
  } else {
    return {};
  }
  return failure;
}

FileFailure take_placement(FileCalls& calls, const Placement& expected, bool has_segments, OpenedLog& opened) {
  FoundPlacement found = read_placement(opened.folder.path);
  if (found.failure) {
    return std::move(found.failure);
  }
  opened.is_placed = found.placement.has_value();
  if (found.placement) {
    opened.placement = *std::move(found.placement);
    // The process that wrote it may have been killed before its name was durable.
    FileFailure failure = sync_names(calls, opened.folder);
    return failure ? failure : mismatch(opened.placement, expected, opened.folder.path);
  }
  if (has_segments && !is_discarded(opened.folder)) {
    return missing_placement(opened.folder.path);
  }
  opened.placement = expected;
  opened.placement.log = new_identity();
  return has_segments ? remove_segments(calls, opened.folder) : FileFailure{};
}

}  // namespace

bool OpenedLog::has_changes() const noexcept {
  return std::ranges::any_of(replayed.records,
                             [](const ReplayedRecord& each) { return changes_file(each.header.kind); });
}

OpenedFolder take_to_write(FileCalls& calls, const std::string& folder) {
  OpenedFolder taken = open_log_folder(calls, folder, true);
  if (!taken.failure) {
    calls.remove(taken.folder.descriptor.get(), closed_name);
  }
  return taken;
}

OpenedLog open_log(FileCalls& calls, LogFolder folder, const Placement& expected) {
  OpenedLog opened{.folder = std::move(folder), .placement = {}, .found = {}, .replayed = {}, .failure = {}};
  const std::vector<std::uint32_t> numbers = segment_numbers(opened.folder, opened.failure);
  if (!opened.failure) {
    opened.failure = take_placement(calls, expected, !numbers.empty(), opened);
  }
  return opened;
}

bool is_drained(FileCalls& calls, const OpenedLog& log) {
  FileFailure failure;
  const std::vector<std::uint32_t> numbers = segment_numbers(log.folder, failure);
  for (auto number = numbers.rbegin(); !failure && number != numbers.rend(); ++number) {
    const LogSegment::Opened opened = LogSegment::open(calls, log.folder, *number);
    SegmentScan found;
    failure = opened.failure ? opened.failure : scan(calls, *opened.segment, log.placement.log, found);
    if (!failure && found.header) {
      // Earlier segments have earlier numbers. What was durable may have been damaged since.
      return found.drained + 1 >= found.header->first_sequence && found.durable <= found.drained &&
             std::ranges::none_of(found.records, [&](const ScannedRecord& each) {
               return changes_file(each.header.kind) && each.header.sequence > found.drained;
             });
    }
    if (found.durable != 0) {
      return false;  // its header was damaged
    }
  }
  return !failure;
}

FileFailure remove_segments(FileCalls& calls, const LogFolder& folder) {
  FileFailure failure;
  for (const std::uint32_t number : segment_numbers(folder, failure)) {
    const std::string name = segment_name(number);
    if (const int result = calls.remove(folder.descriptor.get(), name.c_str()); result != 0 && result != -ENOENT) {
      return {.error = -result, .operation = "remove", .path = folder.path + '/' + name};
    }
    calls.reached(CrashPoint::segment_removed);
  }
  if (!failure) {
    failure = sync_names(calls, folder);
    calls.remove(folder.descriptor.get(), discarded_placement_name);
  }
  return failure;
}

FileFailure read_log(FileCalls& calls, const LogFolder& folder, LogIdentity log, std::vector<FoundSegment>& found,
                     Replay& replayed) {
  FileFailure failure;
  for (const std::uint32_t number : segment_numbers(folder, failure)) {
    LogSegment::Opened opened = LogSegment::open(calls, folder, number);
    if (opened.failure) {
      return std::move(opened.failure);
    }
    found.push_back({std::move(opened.segment), {}});
    failure = scan(calls, *found.back().segment, log, found.back().scan);
    if (failure) {
      return failure;
    }
  }
  if (!failure) {
    replayed = replay(found);
  }
  return failure;
}

StagedContents contents_of(const Replay& replayed, std::uint64_t final_bytes) {
  StagedContents contents(final_bytes);
  for (const ReplayedRecord& each : replayed.records) {
    const RecordHeader& header = each.header;
    if (header.kind == RecordKind::truncate) {
      contents.set_size(header.offset);
    } else if (header.kind == RecordKind::write) {
      contents.write({header.offset, static_cast<std::size_t>(header.length)},
                     {.segment = each.segment,
                      .position = static_cast<std::uint32_t>(each.position),
                      .length = static_cast<std::uint32_t>(header.length),
                      .skipped = 0});
    }
  }
  return contents;
}

}  // namespace dovetail::staging
