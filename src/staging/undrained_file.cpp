#include "staging/undrained_file.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "staging/final_mark.hpp"
#include "staging/log_folder.hpp"
#include "staging/log_record.hpp"
#include "staging/log_segment.hpp"
#include "staging/recovery.hpp"

namespace dovetail::staging {
namespace {

// Not one of a log that has got the folder meanwhile.
LogSegment::Opened open_segment(FileCalls& calls, const LogFolder& folder, std::uint32_t number, LogIdentity log) {
  LogSegment::Opened opened = LogSegment::open(calls, folder, number);
  if (opened.failure) {
    return opened;
  }
  EncodedHeader bytes{};
  opened.failure = opened.segment->read(0, bytes);
  const std::optional<SegmentHeader> header = opened.failure ? std::nullopt : decode_segment(bytes, log);
  if (!opened.failure && (!header || header->number != number)) {
    opened.failure = {
        .error = ESTALE, .operation = "read", .path = opened.segment->path(), .why = "it is of another log now"};
  }
  return opened;
}

// Half of the descriptors that the process may have are left to the program: an MPI library that gets none may wait for ever. `used`: the lowest one that was free.
FileFailure objection_to(std::span<const LeftIndex> parts, int used, const std::string& final_path) {
  struct rlimit most{};
  std::size_t wanted = static_cast<std::size_t>(used);
  for (const LeftIndex& part : parts) {
    wanted += part.segments.size();
  }
  if (::getrlimit(RLIMIT_NOFILE, &most) == 0 && wanted <= most.rlim_cur / 2) {
    return {};
  }
  return {.error = EMFILE,
          .operation = "read without a drain",
          .path = final_path,
          .why = "its logs have too many segments for the limit of open files"};
}

LogFolder open_folder(const std::string& path) {
  return {.path = path,
          .descriptor = LockedDescriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC))};
}

}  // namespace

UndrainedFile::UndrainedFile(base::Descriptor final_file, const std::string& final_path, FileCalls& calls)
    : calls_(calls), descriptor_(std::move(final_file)), final_{.path = final_path, .descriptor = descriptor_.get()} {}

UndrainedFile::Opened UndrainedFile::open(const std::vector<LeftLog>& logs, std::span<const LeftIndex> parts,
                                          const std::string& final_path, FileCalls& calls) {
  base::Descriptor file = open_to_read_marks(final_path);
  if (file.get() < 0) {
    return {nullptr, {.error = errno, .operation = "open", .path = final_path}};
  }
  if (FileFailure failure = objection_to(parts, file.get(), final_path)) {
    return {nullptr, std::move(failure)};
  }
  std::unique_ptr<UndrainedFile> opened(new UndrainedFile(std::move(file), final_path, calls));
  opened->take(logs);
  for (const LeftIndex& part : parts) {
    if (FileFailure failure = opened->take(part)) {
      return {nullptr, std::move(failure)};
    }
  }
  return {std::move(opened), {}};
}

void UndrainedFile::take(const std::vector<LeftLog>& logs) {
  const base::LockGuard lock(mutex_);
  logs_.reserve(logs.size());
  for (const LeftLog& each : logs) {
    logs_.push_back({.name = each});
  }
}

FileFailure UndrainedFile::take(const LeftIndex& part) {
  const base::LockGuard lock(mutex_);
  const auto first = static_cast<std::uint32_t>(segments_.size());
  LogFolder folder;
  for (const LeftIndex::Segment& each : part.segments) {
    Log& log = logs_.at(each.log);
    if (folder.path != log.name.folder) {
      folder = open_folder(log.name.folder);
    }
    LogSegment::Opened opened = open_segment(calls_, folder, each.number, log.name.log);
    if (opened.failure) {
      return std::move(opened.failure);
    }
    segments_.push_back({.segment = std::move(opened.segment), .log = each.log});
    if (log.oldest == nullptr || each.number < log.oldest->number()) {
      log.oldest = segments_.back().segment;
    }
  }
  for (const LeftIndex::Extent& each : part.extents) {
    LogPlace place = each.place;
    place.segment += first;
    index_.insert(each.begin, each.end - each.begin, place);
  }
  return {};
}

std::uint64_t UndrainedFile::staged_end_now() const {
  return index_.empty() ? 0 : index_.extents().rbegin()->second.end;
}

std::uint64_t UndrainedFile::staged_end() const {
  const base::LockGuard lock(mutex_);
  return staged_end_now();
}

FileRead UndrainedFile::read(std::uint64_t offset, std::span<std::byte> target) const {
  FileParts parts{.parts = {}, .final_bytes = StagedContents::uncut};
  {
    const base::LockGuard lock(mutex_);
    // What another thread has found drained since, and forgotten, would count neither here nor there.
    struct stat status{};
    if (::fstat(descriptor_.get(), &status) != 0) {
      return {.bytes = 0, .failure = {.error = errno, .operation = "look at", .path = final_.path}};
    }
    const std::uint64_t size = std::max(staged_end_now(), static_cast<std::uint64_t>(status.st_size));
    if (offset < size) {
      index_.visit(
          {offset, static_cast<std::size_t>(std::min<std::uint64_t>(target.size(), size - offset))},
          [&](base::ByteRange range, const LogPlace& place)
              NO_THREAD_SAFETY_ANALYSIS { parts.parts.push_back({range, place, segments_[place.segment].segment}); },
          [&](base::ByteRange range) { parts.parts.push_back({.range = range}); });
    }
  }
  return read_parts(calls_, final_, parts, target);
}

TakenWriters UndrainedFile::take_to_drain() const {
  // Also those of which nothing is newest: drained later, they would come over what is.
  TakenWriters result;
  const base::LockGuard lock(mutex_);
  for (const Log& each : logs_) {
    OpenedFolder taken = take_to_recover(each.name.folder, calls_, each.name.log);
    if (taken.failure.error == ENOENT) {
      continue;  // others have drained it
    }
    if (taken.failure) {
      break;  // none is drained before an earlier one
    }
    result.dead.push_back(std::move(taken));
  }
  return result;
}

template <class Condition>
void UndrainedFile::forget_if(const Condition& condition) {
  const base::LockGuard lock(mutex_);
  for (std::size_t number = 0; number < logs_.size(); ++number) {
    Log& log = logs_[number];
    if (log.oldest == nullptr || !condition(log)) {
      continue;
    }
    log.oldest = nullptr;
    index_.erase_if(0, UINT64_MAX, [&](const LogPlace& place) NO_THREAD_SAFETY_ANALYSIS {
      return segments_[place.segment].log == number;
    });
    for (Segment& each : segments_) {
      if (each.log == number) {
        each.segment = nullptr;
      }
    }
  }
}

// A segment is removed once all of its log is in the final file, or does not count any more.
void UndrainedFile::forget_drained() {
  forget_if([](const Log& log) {
    struct stat status{};
    return ::fstat(log.oldest->descriptor(), &status) == 0 && status.st_nlink == 0;
  });
}

void UndrainedFile::forget_superseded() {
  const FinalMark mark = read_generation({.calls = calls_, .descriptor = descriptor_.get(), .path = final_.path});
  forget_if([&](const Log& log) { return !mark.failure && mark.supersedes(log.name.generation); });
}

}  // namespace dovetail::staging
