#include "staging/inspection.hpp"

#include <fcntl.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "staging/final_mark.hpp"
#include "staging/opened_log.hpp"

namespace dovetail::staging {
namespace {

void count(const std::vector<FoundSegment>& found, const Replay& replayed, Inspection& result) {
  result.segments = found.size();
  result.is_half_drained = replayed.draining_from.has_value();
  for (const FoundSegment& each : found) {
    result.log_bytes += each.scan.bytes;
    result.torn_bytes += each.scan.bytes - each.scan.whole_bytes;
  }
  for (const ReplayedRecord& each : replayed.records) {
    result.records += changes_file(each.header.kind) ? 1U : 0U;
  }
  // What the size of the final file is does not matter to what is in the log.
  const StagedContents contents = contents_of(replayed, 0);
  result.extents = contents.index().extents().size();
  for (const auto& [offset, extent] : contents.index().extents()) {
    result.staged_bytes += extent.end - offset;
  }
}

void look_at_final(FileCalls& calls, const Placement& placement, Inspection& result) {
  const base::Descriptor file = open_to_read_marks(placement.final_path);
  FileFailure failure;
  if (file.get() < 0 || identity_of(file.get(), placement.final_path, failure) != placement.final_file) {
    return;  // it is gone
  }
  const FinalMark mark = read_generation({.calls = calls, .descriptor = file.get(), .path = placement.final_path});
  result.has_marks = mark.is_supported;
  result.is_superseded = result.records != 0 && mark.supersedes(placement.generation);
}

}  // namespace

Inspection inspect(const std::string& folder, FileCalls& calls) {
  Inspection result;
  const LogFolder opened{.path = folder,
                         .descriptor = LockedDescriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC))};
  if (opened.descriptor.get() < 0) {
    result.failure = {.error = errno, .operation = "open", .path = folder};
    return result;
  }
  FoundPlacement placed = read_placement(folder);
  result.failure = std::move(placed.failure);
  result.placement = std::move(placed.placement);
  if (!result.failure && !result.placement && !is_discarded(opened) &&
      !segment_numbers(opened, result.failure).empty()) {
    result.failure = missing_placement(folder);
  }
  if (result.failure || !result.placement) {
    return result;
  }
  std::vector<FoundSegment> found;
  Replay replayed;
  result.failure = read_log(calls, opened, result.placement->log, found, replayed);
  if (!result.failure) {
    count(found, replayed, result);
    result.damage = std::move(replayed.damage);
    look_at_final(calls, *result.placement, result);
  }
  return result;
}

}  // namespace dovetail::staging
