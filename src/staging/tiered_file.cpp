#include "staging/tiered_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "staging/log_generation.hpp"
#include "staging/placement.hpp"
#include "staging/tier_registration.hpp"
#include "staging/writer_folders.hpp"

namespace dovetail::staging {
namespace {

bool is_full(const FileFailure& failure) noexcept { return failure.error == ENOSPC || failure.error == EDQUOT; }

// What was written into a file that has no name any more is gone with the last descriptor of it. Where it has another name, a program has renamed it.
FileFailure objection_to_name(const FinalFile& file) {
  struct stat opened{};
  if (::fstat(file.descriptor, &opened) != 0) {
    return {.error = errno, .operation = "look at", .path = file.path};
  }
  if (opened.st_nlink != 0) {
    return {};
  }
  struct stat named{};
  const bool is_replaced = ::stat(file.path.c_str(), &named) == 0;
  return {.error = is_replaced ? ESTALE : ENOENT,
          .operation = "drain into",
          .path = file.path,
          .why = is_replaced ? "another file has its name now" : ""};
}

}  // namespace

TieredFile::Final TieredFile::open_final(const std::string& folder, const std::string& path) {
  Final opened;
  if (!path.starts_with('/') || !folder.starts_with('/') || folder.ends_with('/')) {
    opened.failure = {.error = EINVAL,
                      .operation = "stage",
                      .path = path.starts_with('/') ? folder : path,
                      .why = "the path must be absolute, and that of a folder without a slash at its end"};
    return opened;
  }
  opened.descriptor = base::Descriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status{};
  if (opened.descriptor.get() < 0 || ::fstat(opened.descriptor.get(), &status) != 0) {
    opened.failure = {.error = errno, .operation = "open", .path = path};
    return opened;
  }
  if (!S_ISREG(status.st_mode)) {
    opened.failure = {.error = EINVAL, .operation = "stage", .path = path, .why = "it is not a regular file"};
    return opened;
  }
  opened.identity = identity_of(opened.descriptor.get(), path, opened.failure);
  return opened;
}

TieredFile::Opened TieredFile::open(const std::string& folder, const std::string& final_path,
                                    const TierSettings& settings) {
  Final final_file = open_final(folder, final_path);
  if (final_file.failure) {
    return {nullptr, std::move(final_file.failure)};
  }
  return open_on(std::move(final_file), take_to_write(*settings.calls, folder), final_path, settings);
}

TieredFile::Opened TieredFile::open(OpenedFolder taken, const std::string& final_path, const TierSettings& settings) {
  Final final_file = open_final(taken.folder.path, final_path);
  if (final_file.failure) {
    return {nullptr, std::move(final_file.failure)};
  }
  return open_on(std::move(final_file), std::move(taken), final_path, settings);
}

TieredFile::Opened TieredFile::open_on(Final final_file, OpenedFolder taken, const std::string& final_path,
                                       const TierSettings& settings) {
  if (taken.failure) {
    return {nullptr, std::move(taken.failure)};
  }
  FileCalls& calls = *settings.calls;
  const MarkedFile marked{.calls = calls, .descriptor = final_file.descriptor.get(), .path = final_path};
  OpenedLog log =
      open_log(calls, std::move(taken.folder), {.final_path = final_path, .final_file = final_file.identity});
  SettledGeneration settled;
  if (!log.failure && log.is_placed && !settings.over_newer) {
    settled = refuse_superseded(marked, log);
  }
  if (!log.failure && !settled.failure) {
    log.failure = read_log(calls, log.folder, log.placement.log, log.found, log.replayed);
    log.failure = !log.failure && !settings.take_what_is_left ? log.replayed.damage : std::move(log.failure);
  }
  if (log.failure) {
    return {nullptr, std::move(log.failure)};
  }
  if (!settled.failure) {
    settled = settle_generation(marked, log,
                                {.given = settings.generation,
                                 .only_what_is_left = settings.only_what_is_left,
                                 .over_newer = settings.over_newer,
                                 .reads_only = settings.reads_only});
  }
  if (settled.failure) {
    return {nullptr, std::move(settled.failure), settled.is_superseded};
  }
  // Not all that a drain has brought there may be in the log: a part of it is the file of no instant.
  const std::optional<std::uint64_t> undone_from = log.replayed.draining_from;
  if (undone_from) {
    settled.failure = cut_final(calls, {.path = final_path, .descriptor = final_file.descriptor.get()}, *undone_from);
    if (settled.failure) {
      return {nullptr, std::move(settled.failure)};
    }
  }
  const StagingLog::Sealed found{.segment = log.found.empty() ? 0 : log.found.back().segment->number(),
                                 .sequence = log.replayed.drained};
  // Another process may have drained into it before this one had the log.
  struct stat status{};
  if (::fstat(final_file.descriptor.get(), &status) != 0) {
    return {nullptr, {.error = errno, .operation = "look at", .path = final_path}};
  }
  StagedContents contents = contents_of(log.replayed, static_cast<std::uint64_t>(status.st_size));
  std::unique_ptr<TieredFile> file(
      new TieredFile(std::move(final_file.descriptor), final_path, std::move(log), settings, std::move(contents)));
  FileFailure failure = undone_from ? file->note_cut(found) : FileFailure{};
  return {failure ? nullptr : std::move(file), std::move(failure), false, std::move(settled.elsewhere)};
}

// Otherwise the next opening would cut it again, and what has come there since would be lost.
FileFailure TieredFile::note_cut(const StagingLog::Sealed& found) {
  FileFailure failure = log_.note_drained(found);
  return failure ? failure : log_.sync_note(found);
}

TieredFile::TieredFile(base::Descriptor final_file, const std::string& final_path, OpenedLog log,
                       const TierSettings& settings, StagedContents contents)
    : settings_(settings),
      calls_(*settings.calls),
      descriptor_(std::move(final_file)),
      final_{.path = final_path, .descriptor = descriptor_.get()},
      has_changes_(log.has_changes()),
      log_(calls_, std::move(log.folder), {.identity = log.placement.log, .segment_bytes = settings.segment_bytes},
           log.found, log.replayed),
      budget_(tier_of_log(log_.folder().path), settings.budget_bytes),
      contents_(std::move(contents)),
      placement_(std::move(log.placement)),
      is_placed_(log.is_placed),
      has_begun_(!settings.reads_only || has_changes_) {}

Generation TieredFile::generation() const {
  const base::LockGuard lock(mutex_);
  return placement_.generation;
}

FileFailure TieredFile::begin_writing(std::vector<StagedTier>& elsewhere) {
  if (has_begun_) {
    return {};
  }
  const base::LockGuard one(draining_);
  if (has_begun_) {
    return {};
  }
  Placement placement;
  {
    const base::LockGuard lock(mutex_);
    placement = placement_;
  }
  SettledGeneration settled = begin_generation(marked(), log_.folder(), placement, is_placed_, settings_.generation);
  if (!settled.failure) {
    const base::LockGuard lock(mutex_);
    placement_ = std::move(placement);
    has_begun_ = true;
  }
  elsewhere = std::move(settled.elsewhere);
  return std::move(settled.failure);
}

FileFailure TieredFile::append(std::uint64_t offset, std::span<const std::byte> data) {
  if (!budget_.take(header_bytes + data.size())) {
    return {.error = ENOSPC,
            .operation = "write",
            .path = log_.folder().path,
            .why = "the budget of the tier is spent (DOVETAIL_TIER_BUDGET_MB)"};
  }
  StagingLog::Appended appended = log_.append(RecordKind::write, offset, data);
  if (!appended.failure) {
    const base::LockGuard lock(mutex_);
    contents_.write({offset, data.size()}, appended.place);
  }
  return std::move(appended.failure);
}

FileFailure TieredFile::write(std::uint64_t offset, std::span<const std::byte> data) {
  FileFailure failure = append_all(offset, data);
  if (!is_full(failure)) {
    return failure;
  }
  // What is staged leaves. Then another try, since what took the space may be this very file.
  if (FileFailure of_drain = drain()) {
    return of_drain;
  }
  failure = append_all(offset, data);
  return is_full(failure) ? write_through(offset, data) : failure;
}

FileFailure TieredFile::write_on_tier(std::uint64_t offset, std::span<const std::byte> data) {
  return append_all(offset, data);
}

FileFailure TieredFile::append_all(std::uint64_t& offset, std::span<const std::byte>& data) {
  if (data.size() > most_file_bytes || offset > most_file_bytes - data.size()) {
    return {.error = EFBIG, .operation = "write", .path = final_.path, .offset = offset};
  }
  while (!data.empty()) {
    const std::size_t bytes = std::min<std::size_t>(data.size(), most_record_bytes);
    const base::LockGuard ordered(order_);
    settle_through();  // no later write is durable without an earlier one
    if (FileFailure failure = append(offset, data.first(bytes))) {
      return failure;
    }
    offset += bytes;
    data = data.subspan(bytes);
  }
  return {};
}

// No thread appends meanwhile: what is older is in the final file, and nothing is newer.
FileFailure TieredFile::write_through(std::uint64_t offset, std::span<const std::byte> data) {
  const base::LockGuard one(draining_);
  const base::LockGuard ordered(order_);
  FileFailure failure = drain_sealed(begin_drain());
  failure = failure ? std::move(failure) : objection_to_drain();
  if (failure) {
    return failure;
  }
  std::array parts = {iovec{const_cast<std::byte*>(data.data()), data.size()}};
  const Transfer done = write_all(calls_, final_.descriptor, parts, offset);
  written_through_ += done.bytes;
  through_is_durable_ = false;
  const base::LockGuard lock(mutex_);
  contents_.wrote_final({offset, done.bytes});
  return done.error == 0
             ? FileFailure{}
             : FileFailure{
                   .error = done.error, .operation = "write", .path = final_.path, .offset = offset + done.bytes};
}

// The kernel tells of it once, and may have dropped the bytes: it is never forgotten.
FileFailure TieredFile::settle_through() {
  if (!through_is_durable_) {
    if (const int error = make_durable(calls_, final_.descriptor, true)) {
      through_failure_ = {
          .error = error, .operation = "make durable what a full tier did not take", .path = final_.path};
    }
    through_is_durable_ = true;
  }
  return through_failure_;
}

FileFailure TieredFile::set_size(std::uint64_t size) {
  if (settings_.shared) {
    return {.error = ENOTSUP, .operation = "set the size", .path = final_.path, .offset = size};
  }
  if (size > most_file_bytes) {
    return {.error = EFBIG, .operation = "set the size", .path = final_.path, .offset = size};
  }
  FileFailure failure = append_size(size);
  if (is_full(failure)) {
    failure = drain();
    return failure ? failure : append_size(size);
  }
  return failure;
}

FileFailure TieredFile::append_size(std::uint64_t size) {
  const base::LockGuard ordered(order_);
  StagingLog::Appended appended = log_.append(RecordKind::truncate, size, {});
  if (!appended.failure) {
    const base::LockGuard lock(mutex_);
    contents_.set_size(size);
  }
  return std::move(appended.failure);
}

std::uint64_t TieredFile::staged_end_now() const {
  const auto& extents = contents_.index().extents();
  return extents.empty() ? 0 : extents.rbegin()->second.end;
}

std::uint64_t TieredFile::staged_end() const {
  const base::LockGuard lock(mutex_);
  return staged_end_now();
}

std::uint64_t TieredFile::size_now() const {
  struct stat status{};
  if (!settings_.shared || ::fstat(final_.descriptor, &status) != 0) {
    return contents_.size();
  }
  return std::max(staged_end_now(), static_cast<std::uint64_t>(status.st_size));
}

FileParts TieredFile::parts_of(std::uint64_t offset, std::size_t wanted) const {
  const base::LockGuard lock(mutex_);
  FileParts result{.parts = {}, .final_bytes = contents_.final_bytes()};
  const std::uint64_t size = size_now();
  if (offset < size) {
    const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(wanted, size - offset));
    contents_.index().visit(
        {offset, bytes},
        [&](base::ByteRange range, const LogPlace& place) {
          result.parts.push_back({range, place, log_.segment(place.segment)});
        },
        [&](base::ByteRange range) { result.parts.push_back({range, {}, nullptr}); });
  }
  return result;
}

TieredFile::Read TieredFile::read(std::uint64_t offset, std::span<std::byte> target) const {
  return read_parts(calls_, final_, parts_of(offset, target.size()), target);
}

std::uint64_t TieredFile::size() const {
  const base::LockGuard lock(mutex_);
  return size_now();
}

bool TieredFile::has_staged(const base::ByteRange& range) const {
  bool found = false;
  const base::LockGuard lock(mutex_);
  contents_.index().visit(range, [&](base::ByteRange, const LogPlace&) { found = true; }, [](base::ByteRange) {});
  return found;
}

std::size_t TieredFile::extents() const {
  const base::LockGuard lock(mutex_);
  return contents_.index().extents().size();
}

FileFailure TieredFile::sync() {
  FileFailure through;
  {
    const base::LockGuard ordered(order_);
    through = settle_through();
  }
  FileFailure failure = log_.sync();
  if (!failure) {
    failure = make_named();
  }
  // A program that goes on would trust in bytes that no drain brings into the file.
  failure = failure ? std::move(failure) : objection_to_drain();
  return failure ? failure : through;
}

// Bytes on the tier would be lost with the file that they belong to, or taken for those of an earlier generation.
FileFailure TieredFile::make_named() {
  if (is_named_) {
    return {};
  }
  FileFailure failure = make_final_durable(calls_, final_);
  is_named_ = !failure;
  return failure;
}

FileFailure TieredFile::drain() {
  const base::LockGuard one(draining_);
  FileFailure through;
  Drain begun;
  {
    const base::LockGuard ordered(order_);
    through = settle_through();
    begun = begin_drain();
  }
  FileFailure failure = drain_sealed(begun);
  return failure ? failure : through;
}

TieredFile::Drain TieredFile::begin_drain() {
  Drain begun{.sealed = log_.seal(), .plan = {}};
  if (!begun.sealed.empty) {
    const base::LockGuard lock(mutex_);
    begun.plan = plan_drain(contents_);
    // Others may have cut the file since.
    const bool is_of_others = settings_.shared || (settings_.only_what_is_left && !has_changes_);
    begun.plan.size = is_of_others ? staged_end_now() : begun.plan.size;
    begun.plan.kept = contents_.begin_drain();
  }
  return begun;
}

FileFailure TieredFile::drain_sealed(const Drain& begun) {
  if (begun.sealed.empty) {
    return {};
  }
  FileFailure failure = bring_into_final(begun);
  {
    const base::LockGuard lock(mutex_);
    if (failure) {
      contents_.give_up_drain();
      return failure;
    }
    // The log says so: also if that cannot be made durable, the next drain must not begin with what came before. And before the segments go, so that no
    // reader looks for them.
    contents_.end_drain(begun.sealed.segment);
  }
  failure = log_.sync_note(begun.sealed);
  return failure ? failure : log_.remove(begun.sealed);
}

// Where a drain changes nothing before the end of the final file, it can be undone by a cut. So the log need not be written to the tier before it, which
// takes as long as the drain if the tier is no faster. Others may have put something behind the end of a shared file.
std::optional<std::uint64_t> TieredFile::end_to_drain_behind(const Drain& begun) const {
  struct stat status{};
  if (settings_.shared || log_.is_durable() || ::fstat(final_.descriptor, &status) != 0) {
    return std::nullopt;
  }
  const auto end = static_cast<std::uint64_t>(status.st_size);
  const bool changes_before =
      begun.plan.kept < end || (!begun.plan.pieces.empty() && begun.plan.pieces.front().range.offset < end);
  return changes_before ? std::nullopt : std::optional(end);
}

FileFailure TieredFile::bring_into_final(const Drain& begun) {
  // Before the final file changes, so that what a crash leaves half done can be done again, or undone. Where the tier cannot make it durable, it was never
  // told to be, and the final file is the way to make it so.
  const std::optional<std::uint64_t> end = end_to_drain_behind(begun);
  if (!end || log_.note_draining(*end)) {
    log_.sync();
  }
  FileFailure failure = log_.verify(begun.sealed);
  failure = failure ? std::move(failure) : objection_to_drain();
  if (!failure) {
    failure = drain_into(calls_, final_, begun.plan, log_.segments(begun.sealed), settings_.drain);
  }
  if (!failure) {
    failure = objection_to_name(final_);
  }
  // Also of one that has superseded it meanwhile, which may have been written over.
  failure = failure ? std::move(failure) : objection_to_drain();
  return failure ? failure : log_.note_drained(begun.sealed);
}

FileFailure TieredFile::objection_to_drain() const {
  if (!has_begun_) {
    return {};
  }
  return objection_to_generation(marked(), generation(), log_.folder().path);
}

FileFailure TieredFile::finish(bool keeps_folder) {
  FileFailure failure = drain();
  if (!failure) {
    failure = log_.remove_all();
  }
  if (!failure) {
    // A name that stays, as where the file has been made read-only, tells a tier that has nothing.
    unregister_log(marked(), generation(), log_.folder().path);
  }
  return failure ? failure : remove_placement(calls_, log_.folder(), keeps_folder);
}

FileFailure TieredFile::note_closed(bool is_drained) {
  const LogFolder& folder = log_.folder();
  const base::Descriptor file(calls_.open(folder.descriptor.get(), closed_name, O_WRONLY | O_CREAT));
  if (file.get() < 0) {
    return {.error = -file.get(), .operation = "make", .path = folder.path + "/" + closed_name};
  }
  return is_drained ? register_log(marked(), generation(), folder.path, true) : FileFailure{};
}

}  // namespace dovetail::staging
