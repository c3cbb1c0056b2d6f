#include "staging/left_logs.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/descriptor.hpp"
#include "staging/final_mark.hpp"
#include "staging/log_folder.hpp"
#include "staging/log_generation.hpp"
#include "staging/opened_log.hpp"
#include "staging/tier_folders.hpp"
#include "staging/writer_folders.hpp"

namespace dovetail::staging {
namespace {

// Why its bytes cannot be served beside those of the final file.
FileFailure objection_to(const OpenedLog& log) {
  const Replay& replayed = log.replayed;
  if (replayed.damage) {
    return replayed.damage;
  }
  const bool sets_size = std::ranges::any_of(
      replayed.records, [](const ReplayedRecord& each) { return each.header.kind == RecordKind::truncate; });
  if (!sets_size && !replayed.draining_from) {
    return {};
  }
  return {.error = ENOTSUP,
          .operation = "read without a drain",
          .path = log.folder.path,
          .why = sets_size ? "it sets the size of the file" : "a drain of it has to be undone"};
}

// Over what earlier logs have of the same bytes.
void add(const OpenedLog& log, std::uint32_t number, std::vector<LeftIndex::Segment>& segments,
         StagedContents::Index& index) {
  const StagedContents own = contents_of(log.replayed, 0);
  const auto first = segments.size();
  for (const FoundSegment& each : log.found) {
    segments.push_back({.log = number, .number = each.segment->number()});
  }
  for (const auto& [begin, extent] : own.index().extents()) {
    const auto at = std::ranges::lower_bound(log.found, extent.place.segment, {},
                                             [](const FoundSegment& each) { return each.segment->number(); });
    LogPlace place = extent.place;
    place.segment = static_cast<std::uint32_t>(first + static_cast<std::size_t>(at - log.found.begin()));
    index.insert(begin, extent.end - begin, place);
  }
}

// The process that has it neither drains it nor has just done so at the close: the placement goes first then.
bool is_staged(const std::string& folder) {
  return holder_of(folder) == Holder::stages && ::access((folder + "/" + placement_name).c_str(), F_OK) == 0;
}

// Leaves out the segments of which nothing counts.
LeftIndex index_of(const std::vector<LeftIndex::Segment>& segments, const StagedContents::Index& all) {
  constexpr std::uint32_t unused = UINT32_MAX;
  std::vector<std::uint32_t> used(segments.size(), unused);
  LeftIndex index;
  index.extents.reserve(all.extents().size());
  for (const auto& [begin, extent] : all.extents()) {
    std::uint32_t& place = used[extent.place.segment];
    if (place == unused) {
      place = static_cast<std::uint32_t>(index.segments.size());
      index.segments.push_back(segments[extent.place.segment]);
    }
    index.extents.push_back({.begin = begin, .end = extent.end, .place = extent.place});
    index.extents.back().place.segment = place;
  }
  return index;
}

}  // namespace

std::vector<LeftLog> find_left_logs(const std::string& folder, FileFailure& failure) {
  std::vector<LeftLog> logs;
  for (std::string& each : writer_folders(folder, failure)) {
    const FoundPlacement found = read_placement(each);
    LeftLog log{.folder = std::move(each)};
    if (found.placement) {
      log.log = found.placement->log;
      log.generation = found.placement->generation;
    }
    logs.push_back(std::move(log));
  }
  return logs;
}

FileFailure objection_to_half_ended(const std::vector<LeftLog>& logs, const std::string& final_path,
                                    std::uint64_t own_job, FileCalls& calls) {
  const base::Descriptor file = open_to_read_marks(final_path);
  const FinalMark mark =
      file.get() < 0 ? FinalMark{} : read_generation({.calls = calls, .descriptor = file.get(), .path = final_path});
  std::vector<Generation> ended;
  std::vector<const LeftLog*> living;
  for (const LeftLog& each : logs) {
    if (each.generation.is_none() || each.generation.job == own_job || mark.supersedes(each.generation)) {
      continue;
    }
    const int error = open_log_folder(calls, each.folder, false).failure.error;
    if (error == EBUSY && is_staged(each.folder)) {
      living.push_back(&each);
    } else if (error == 0) {
      ended.push_back(each.generation);
    }
  }
  for (const LeftLog* each : living) {
    if (std::ranges::find(ended, each->generation) != ended.end()) {
      return {.error = EBUSY,
              .operation = "recover",
              .path = final_path,
              .why = "a process of the job that has left it still has " + each->folder,
              .remedy = "open it again once that has ended"};
    }
  }
  return {};
}

LeftContents read_left_logs(const std::vector<LeftLog>& logs, const std::string& final_path, LeftShare share,
                            FileCalls& calls) {
  LeftContents result;
  const base::Descriptor file = open_to_read_marks(final_path);
  if (file.get() < 0) {
    result.failure = {.error = errno, .operation = "open", .path = final_path};
    return result;
  }
  const MarkedFile marked{.calls = calls, .descriptor = file.get(), .path = final_path};
  const FileIdentity identity = identity_of(file.get(), final_path, result.failure);
  std::vector<LeftIndex::Segment> segments;
  StagedContents::Index newest;
  for (std::size_t i = share.begin; i < std::min(share.end, logs.size()) && !result.failure; ++i) {
    OpenedFolder taken = open_log_folder(calls, logs[i].folder, false);
    if (taken.failure.error == ENOENT) {
      continue;  // all of it is in the file now
    }
    result.failure = std::move(taken.failure);
    if (result.failure) {
      break;
    }
    OpenedLog log = open_log(calls, std::move(taken.folder), {.final_path = final_path, .final_file = identity});
    result.failure = std::move(log.failure);
    if (result.failure || !log.is_placed) {
      continue;
    }
    SettledGeneration settled = refuse_superseded(marked, log);
    if (settled.is_superseded) {
      result.superseded.push_back(logs[i].folder);
      continue;
    }
    result.failure = settled.failure ? std::move(settled.failure)
                                     : read_log(calls, log.folder, log.placement.log, log.found, log.replayed);
    result.failure = result.failure ? std::move(result.failure) : objection_to(log);
    if (!result.failure) {
      add(log, static_cast<std::uint32_t>(i), segments, newest);
    }
  }
  result.index = index_of(segments, newest);
  return result;
}

}  // namespace dovetail::staging
