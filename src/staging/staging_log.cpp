#include "staging/staging_log.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <utility>
#include <vector>

#include "staging/log_scan.hpp"

namespace dovetail::staging {
namespace {

constexpr std::size_t reserve_bytes = std::size_t{64} << 10;

// Positions in it have 32 bits.
constexpr std::size_t most_segment_bytes = std::size_t{1} << 31;

}  // namespace

StagingLog::StagingLog(FileCalls& calls, LogFolder folder, const Settings& settings,
                       const std::vector<FoundSegment>& found, const Replay& replayed)
    : calls_(calls),
      folder_(std::move(folder)),
      settings_{.identity = settings.identity, .segment_bytes = std::min(settings.segment_bytes, most_segment_bytes)} {
  for (const FoundSegment& each : found) {
    const std::uint32_t number = each.segment->number();
    segments_[number] = {
        .segment = each.segment, .whole_bytes = each.scan.whole_bytes, .durable_bytes = 0, .doubt = {}};
    next_number_ = std::max(next_number_, number + 1);
  }
  next_sequence_ = replayed.next_sequence;
  // What is missing was durable once.
  durable_ = std::min(replayed.durable, next_sequence_ - 1);
  // Whether a note that was found is durable is not known.
  last_change_ = replayed.drained;
  for (const ReplayedRecord& each : replayed.records) {
    last_change_ = changes_file(each.header.kind) ? each.header.sequence : last_change_;
  }
  keep_reserve();
}

StagingLog::Appended StagingLog::append(RecordKind kind, std::uint64_t offset, std::span<const std::byte> data) {
  const std::uint64_t checksum = data.empty() ? 0 : checksum_of(data, settings_.identity);
  Appended result;
  {
    // One at a time, so that a record that cannot be written leaves no hole before others.
    const base::LockGuard lock(mutex_);
    result.failure = append_at(kind, offset, data, checksum, result.place);
  }
  if (!result.failure) {
    calls_.reached(CrashPoint::record_appended);
  }
  return result;
}

FileFailure StagingLog::append_at(RecordKind kind, std::uint64_t offset, std::span<const std::byte> data,
                                  std::uint64_t checksum, LogPlace& place) {
  auto at = segments_.find(current_);
  if (at == segments_.end() || !at->second.segment->is_whole() ||
      at->second.segment->bytes() >= settings_.segment_bytes) {
    if (FileFailure failure = begin_segment()) {
      return failure;
    }
    at = segments_.find(current_);
  }
  LogSegment& segment = *at->second.segment;
  place = {.segment = segment.number(),
           .position = static_cast<std::uint32_t>(segment.bytes() + header_bytes),
           .length = static_cast<std::uint32_t>(data.size()),
           .skipped = 0};
  const RecordHeader header{.kind = kind,
                            .sequence = next_sequence_,
                            .durable = durable_,
                            .offset = offset,
                            .length = data.size(),
                            .data_checksum = checksum};
  if (FileFailure failure = segment.append(encode(header, settings_.identity), data)) {
    return failure;
  }
  last_change_ = changes_file(kind) ? next_sequence_ : last_change_;
  ++next_sequence_;
  return {};
}

FileFailure StagingLog::begin_segment() {
  if (next_number_ > most_segments) {
    return {.error = EOVERFLOW, .operation = "make", .path = folder_.path + "/" + segment_name(next_number_)};
  }
  const std::uint32_t number = next_number_++;
  auto made =
      LogSegment::create(calls_, folder_, {.number = number, .first_sequence = next_sequence_}, settings_.identity);
  if (made.failure) {
    return std::move(made.failure);
  }
  segments_[number].segment = std::move(made.segment);
  current_ = number;
  return {};
}

FileFailure StagingLog::sync() {
  const base::LockGuard one(syncing_);
  std::uint64_t until = 0;
  {
    const base::LockGuard lock(mutex_);
    until = last_change_;
    if (durable_ >= until) {
      return {};
    }
  }
  if (FileFailure failure = sync_from(0)) {
    return failure;
  }
  {
    const base::LockGuard lock(mutex_);
    durable_ = std::max(durable_, until);
  }
  calls_.reached(CrashPoint::log_synced);
  // For the reader, which otherwise takes a last record that was changed for one that was never durable. Where it cannot be written, the next record
  // says so.
  {
    const base::LockGuard lock(mutex_);
    LogPlace place;
    current_ == 0 ? append_note(RecordKind::synced, 0) : append_at(RecordKind::synced, 0, {}, 0, place);
  }
  calls_.reached(CrashPoint::sync_noted);
  return {};
}

FileFailure StagingLog::sync_from(std::uint32_t number) {
  std::vector<std::uint32_t> numbers;
  {
    const base::LockGuard lock(mutex_);
    for (auto at = segments_.lower_bound(number); at != segments_.end(); ++at) {
      numbers.push_back(at->first);
    }
  }
  // Also those behind one that fails: a drain that goes on without a durable log needs as much of it as there can be.
  FileFailure first;
  for (const std::uint32_t each : numbers) {
    FileFailure failure = sync_segment(each);
    first = first ? first : std::move(failure);
  }
  FileFailure failure = sync_folder();
  return first ? first : failure;
}

// In a segment without data, so that a sync of it is short.
FileFailure StagingLog::append_note(RecordKind kind, std::uint64_t offset) {
  const auto newest = segments_.empty() ? segments_.end() : std::prev(segments_.end());
  const bool goes_on = newest != segments_.end() && newest->second.has_notes_only && newest->second.segment->is_whole();
  const std::uint32_t before = std::exchange(current_, goes_on ? newest->first : 0);
  const std::uint32_t next = next_number_;
  LogPlace place;
  FileFailure failure = append_at(kind, offset, {}, 0, place);
  if (failure) {
    // A segment that was begun for it says which number comes next: the reader would take what came later into an earlier one for void.
    current_ = next_number_ == next ? before : 0;
    return failure;
  }
  segments_[current_].has_notes_only = true;
  noting_ = std::exchange(current_, 0);
  return {};
}

FileFailure StagingLog::sync_notes() {
  std::uint32_t number = 0;
  {
    const base::LockGuard lock(mutex_);
    number = noting_;
  }
  FileFailure failure = sync_segment(number);
  return failure ? failure : sync_folder();
}

FileFailure StagingLog::sync_segment(std::uint32_t number) {
  std::shared_ptr<LogSegment> segment;
  std::uint64_t bytes = 0;
  {
    const base::LockGuard lock(mutex_);
    const auto at = segments_.find(number);
    // A segment that was drained is gone.
    if (at == segments_.end() || at->second.doubt || at->second.durable_bytes == at->second.segment->bytes()) {
      return at == segments_.end() ? FileFailure{} : at->second.doubt;
    }
    segment = at->second.segment;
    bytes = segment->bytes();
  }
  FileFailure failure = segment->sync();
  const base::LockGuard lock(mutex_);
  const auto at = segments_.find(number);
  if (at != segments_.end()) {
    at->second.doubt = failure;
    at->second.durable_bytes = failure ? at->second.durable_bytes : bytes;
  }
  return failure;
}

FileFailure StagingLog::sync_folder() {
  std::uint32_t newest = 0;
  {
    const base::LockGuard lock(mutex_);
    newest = segments_.empty() ? 0 : segments_.rbegin()->first;
    if (newest <= named_) {
      return {};
    }
  }
  FileFailure failure = sync_names(calls_, folder_);
  const base::LockGuard lock(mutex_);
  if (!failure) {
    named_ = std::max(named_, newest);
    return failure;
  }
  // The kernel tells of it once, as it does of data.
  for (auto at = segments_.upper_bound(named_); at != segments_.end() && at->first <= newest; ++at) {
    at->second.doubt = failure;
  }
  return failure;
}

StagingLog::Sealed StagingLog::seal() {
  Sealed sealed;
  {
    const base::LockGuard lock(mutex_);
    sealed = {.segment = next_number_ - 1, .sequence = next_sequence_ - 1, .empty = last_change_ <= noted_};
    current_ = sealed.empty ? current_ : 0;
    if (!sealed.empty && !segments_.empty()) {
      segments_.rbegin()->second.has_notes_only = false;  // the next note goes behind what is sealed, and stays
    }
  }
  calls_.reached(CrashPoint::drain_begun);
  return sealed;
}

bool StagingLog::is_durable() const {
  const base::LockGuard lock(mutex_);
  return durable_ >= last_change_;
}

FileFailure StagingLog::note_draining(std::uint64_t end) {
  FileFailure failure;
  {
    const base::LockGuard lock(mutex_);
    failure = append_note(RecordKind::draining, end);
  }
  if (!failure) {
    const base::LockGuard one(syncing_);
    failure = sync_notes();
  }
  if (!failure) {
    calls_.reached(CrashPoint::draining_noted);
  }
  return failure;
}

StagingLog::Segments StagingLog::segments(const Sealed& sealed) const {
  const base::LockGuard lock(mutex_);
  Segments result;
  for (auto at = segments_.begin(); at != segments_.end() && at->first <= sealed.segment; ++at) {
    result.emplace(at->first, at->second.segment);
  }
  return result;
}

std::shared_ptr<const LogSegment> StagingLog::segment(std::uint32_t number) const {
  const base::LockGuard lock(mutex_);
  const auto at = segments_.find(number);
  return at == segments_.end() ? nullptr : at->second.segment;
}

FileFailure StagingLog::verify(const Sealed& sealed) const {
  for (const auto& [number, segment] : segments(sealed)) {
    std::uint64_t expected = 0;
    {
      const base::LockGuard lock(mutex_);
      const auto at = segments_.find(number);
      expected = at == segments_.end() ? 0 : at->second.whole_bytes.value_or(segment->bytes());
    }
    SegmentScan scanned;
    if (FileFailure failure = scan(calls_, *segment, settings_.identity, scanned)) {
      return failure;
    }
    if (scanned.whole_bytes < expected) {
      return {.error = EBADMSG,
              .operation = "read",
              .path = segment->path(),
              .offset = scanned.whole_bytes,
              .why = "the record there is not what was written"};
    }
  }
  return {};
}

FileFailure StagingLog::note_drained(const Sealed& sealed) {
  FileFailure failure;
  {
    // No other thread's write may take the space of the reserve.
    const base::LockGuard lock(mutex_);
    failure = append_note(RecordKind::drained, sealed.sequence);
    if ((failure.error == ENOSPC || failure.error == EDQUOT) && give_up_reserve()) {
      failure = append_note(RecordKind::drained, sealed.sequence);
    }
  }
  if (!failure) {
    calls_.reached(CrashPoint::record_appended);
    calls_.reached(CrashPoint::drain_noted);
  }
  return failure;
}

FileFailure StagingLog::sync_note(const Sealed& sealed) {
  const base::LockGuard one(syncing_);
  // What is sealed need not be durable here any more, and perhaps cannot be.
  FileFailure failure = sync_notes();
  if (failure) {
    return failure;
  }
  {
    const base::LockGuard lock(mutex_);
    noted_ = std::max(noted_, sealed.sequence);
    durable_ = std::max(durable_, sealed.sequence);
    // Nothing was written meanwhile, and no more notes come for now.
    if (const auto newest = segments_.rbegin();
        current_ == 0 && newest != segments_.rend() && newest->first == noting_) {
      newest->second.has_notes_only = false;
      current_ = noting_;
    }
  }
  calls_.reached(CrashPoint::drain_durable);
  return {};
}

FileFailure StagingLog::remove(const Sealed& sealed) {
  FileFailure failure = remove_until(sealed.segment);
  keep_reserve();
  return failure;
}

FileFailure StagingLog::remove_until(std::uint32_t number) {
  for (;;) {
    std::uint32_t oldest = 0;
    {
      const base::LockGuard lock(mutex_);
      oldest = segments_.empty() ? 0 : segments_.begin()->first;
    }
    if (oldest == 0 || oldest > number) {
      return {};
    }
    const std::string name = segment_name(oldest);
    const int result = calls_.remove(folder_.descriptor.get(), name.c_str());
    if (result != 0 && result != -ENOENT) {
      return {.error = -result, .operation = "remove", .path = folder_.path + "/" + name};
    }
    {
      const base::LockGuard lock(mutex_);
      segments_.erase(oldest);
    }
    calls_.reached(CrashPoint::segment_removed);
  }
}

FileFailure StagingLog::remove_all() {
  std::uint32_t newest = 0;
  {
    const base::LockGuard lock(mutex_);
    newest = segments_.empty() ? 0 : segments_.rbegin()->first;
  }
  // The newest one says that the others were drained: they must not come back without it. Nor must any without the placement.
  for (const std::uint32_t until : {newest - (newest == 0 ? 0 : 1), newest}) {
    FileFailure failure = remove_until(until);
    if (!failure) {
      failure = sync_names(calls_, folder_);
    }
    if (failure) {
      return failure;
    }
  }
  give_up_reserve();
  calls_.reached(CrashPoint::folder_emptied);
  return {};
}

void StagingLog::keep_reserve() {
  const base::Descriptor file(calls_.open(folder_.descriptor.get(), reserve_name, O_WRONLY | O_CREAT));
  if (file.get() >= 0) {
    std::vector<std::byte> zeros(reserve_bytes);
    std::array parts = {iovec{zeros.data(), zeros.size()}};
    write_all(calls_, file.get(), parts, 0);
  }
}

bool StagingLog::give_up_reserve() { return calls_.remove(folder_.descriptor.get(), reserve_name) == 0; }

std::uint64_t StagingLog::bytes() const {
  const base::LockGuard lock(mutex_);
  std::uint64_t sum = 0;
  for (const auto& [number, kept] : segments_) {
    sum += kept.segment->bytes();
  }
  return sum;
}

}  // namespace dovetail::staging
