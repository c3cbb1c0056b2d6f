#include "rank_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "failures.hpp"
#include "left_files.hpp"
#include "staging/recovery.hpp"
#include "staging/tier_lock.hpp"

namespace dovetail::interpose::mpiio {
namespace {

using staging::FileFailure;
using staging::TieredFile;

// So many bytes of scattered memory are put together at once.
constexpr std::uint64_t gathered_bytes = std::uint64_t{4} << 20;

void gather(const Layout& memory, std::uint64_t skip, const std::byte* from, std::span<std::byte> into) {
  std::byte* to = into.data();
  memory.visit(0, skip, into.size(), [&](std::int64_t displacement, std::uint64_t bytes) {
    std::memcpy(to, from + displacement, bytes);
    to += bytes;
    return true;
  });
}

void scatter(const Layout& memory, std::uint64_t skip, std::span<const std::byte> from, std::byte* into) {
  const std::byte* at = from.data();
  memory.visit(0, skip, from.size(), [&](std::int64_t displacement, std::uint64_t bytes) {
    std::memcpy(into + displacement, at, bytes);
    at += bytes;
    return true;
  });
}

// Calls `put(offset in the file, bytes)` for each piece, until it returns false.
template <class Put>
void visit_pieces(const FileView& view, std::uint64_t skip, const Layout& memory, const std::byte* data,
                  const Put& put) {
  const auto put_pieces = [&](std::uint64_t from, std::span<const std::byte> bytes) {
    const std::byte* at = bytes.data();
    return view.visit(from, bytes.size(), [&](std::int64_t offset, std::uint64_t length) {
      const bool goes_on = put(static_cast<std::uint64_t>(offset), std::span(at, length));
      at += length;
      return goes_on;
    });
  };
  if (memory.is_run()) {
    put_pieces(skip, {data, memory.bytes()});
    return;
  }
  std::vector<std::byte> together(std::min(gathered_bytes, memory.bytes()));
  for (std::uint64_t done = 0; done < memory.bytes();) {
    const auto part = std::span(together).first(std::min<std::uint64_t>(together.size(), memory.bytes() - done));
    gather(memory, done, data, part);
    if (!put_pieces(skip + done, part)) {
      return;
    }
    done += part.size();
  }
}

FileView bytes_from_the_beginning() {
  return {.displacement = 0, .unit_bytes = 1, .tile = {.layout = Layout::run(1), .extent = 1, .bytes = 1}};
}

}  // namespace

RankFile::RankFile(std::shared_ptr<TieredFile> tier, Names names, const Hints& hints, const FileRule* rule,
                   MPI_Comm communicator, int mode, bool is_of_format_library)
    : tier_(std::move(tier)),
      names_(std::move(names)),
      rule_(rule),
      communicator_(communicator),
      mode_(mode),
      is_of_format_library_(is_of_format_library),
      hints_(hints),
      view_(bytes_from_the_beginning()),
      background_(hints.threads) {}

RankFile::RankFile(std::shared_ptr<staging::UndrainedFile> undrained, Names names, const Hints& hints,
                   MPI_Comm communicator, int mode)
    : undrained_(std::move(undrained)),
      names_(std::move(names)),
      rule_(nullptr),
      communicator_(communicator),
      mode_(mode),
      is_of_format_library_(false),  // no rank writes, so that no order has to be kept
      hints_(hints),
      view_(bytes_from_the_beginning()),
      background_(1) {}  // logs are drained in their order

Hints RankFile::hints() const {
  const base::LockGuard lock(mutex_);
  return hints_;
}

void RankFile::change_hints(const Hints& hints) {
  const base::LockGuard lock(mutex_);
  hints_.flush = hints.flush;
  hints_.discard = hints.discard;
}

FileView RankFile::view() const {
  const base::LockGuard lock(mutex_);
  return view_;
}

void RankFile::set_view(FileView view) {
  const base::LockGuard lock(mutex_);
  view_ = std::move(view);
}

FileFailure RankFile::write(const FileView& view, std::uint64_t skip, const LayoutPointer& memory,
                            const std::byte* data) {
  return write_pieces(&TieredFile::write, view, skip, memory, data);
}

FileFailure RankFile::write_final(const FileView& view, std::uint64_t skip, const LayoutPointer& memory,
                                  const std::byte* data) {
  return write_pieces(&TieredFile::write_through, view, skip, memory, data);
}

FileFailure RankFile::write_pieces(PieceWriter write_piece, const FileView& view, std::uint64_t skip,
                                   const LayoutPointer& memory, const std::byte* data) {
  FileFailure failure;
  visit_pieces(view, skip, *memory, data, [&](std::uint64_t offset, std::span<const std::byte> piece) {
    failure = ((*tier_).*write_piece)(offset, piece);
    return !failure;
  });
  return failure;
}

std::uint64_t RankFile::staged_end() const {
  if (undrained_ == nullptr) {
    return tier_->staged_end();
  }
  undrained_->forget_drained();
  return undrained_->staged_end();
}

FileFailure RankFile::drain() {
  if (undrained_ == nullptr) {
    return tier_->drain();
  }
  FileFailure failure = staged_end() == 0 ? FileFailure{} : recover_file(hints(), names_.path);
  undrained_->forget_superseded();
  if (!failure && staged_end() != 0) {
    failure = {.error = EBUSY,
               .operation = "drain into",
               .path = names_.path,
               .why = "another process has what an earlier run had left of it in " + names_.folder,
               .remedy = "try again once it has ended; `dovetail staging status` shows what is left"};
  }
  return failure;
}

staging::FileRead RankFile::read(const FileView& view, std::uint64_t skip, const LayoutPointer& memory,
                                 std::byte* data) const {
  staging::FileRead result;
  // False: the file has ended, or there is a failure.
  const auto read_pieces = [&](std::uint64_t from, std::span<std::byte> into) {
    std::byte* at = into.data();
    return view.visit(from, into.size(), [&](std::int64_t offset, std::uint64_t length) {
      const auto from_file = static_cast<std::uint64_t>(offset);
      const std::span piece(at, length);
      staging::FileRead got =
          undrained_ != nullptr ? undrained_->read(from_file, piece) : tier_->read(from_file, piece);
      at += got.bytes;
      result.bytes += got.bytes;
      result.failure = std::move(got.failure);
      return !result.failure && got.bytes == length;
    });
  };
  if (memory->is_run()) {
    read_pieces(skip, {data, memory->bytes()});
    return result;
  }
  std::vector<std::byte> together(std::min(gathered_bytes, memory->bytes()));
  bool goes_on = true;
  for (std::uint64_t done = 0; goes_on && done < memory->bytes();) {
    const auto part = std::span(together).first(std::min<std::uint64_t>(together.size(), memory->bytes() - done));
    goes_on = read_pieces(skip + done, part);
    scatter(*memory, done, part.first(result.bytes - done), data);
    done += part.size();
  }
  return result;
}

void RankFile::drain_in_background() {
  background_.request(tier_, {});  // if it fails, the next sync or close tries again, and fails if it cannot
}

FileFailure RankFile::finish() {
  background_.wait();
  const Hints now = hints();
  if (tier_ != nullptr) {
    return tier_->finish(!now.discard);
  }
  if (!failed_in_background_) {
    return std::move(left_failure_);
  }
  // `close_in_background` has unlocked the log. This is another try, unless another process has recovered the log meanwhile.
  const staging::TierLock lock = staging::lock_tier(now.path);
  return staging::recover(names_.folder, settings_of(now)).failure;
}

void RankFile::drain_left_in_background() {
  const Hints now = hints();
  const auto taken = std::make_shared<staging::TakenWriters>();  // a function that can be copied holds it
  {
    const staging::TierLock lock = staging::lock_tier(now.path);
    if (lock.failure) {
      return;  // the next opening for writing drains it
    }
    *taken = undrained_->take_to_drain();
  }
  undrained_ = nullptr;  // it is not read any more, and a drain needs descriptors, too
  if (taken->dead.empty()) {
    return;
  }
  background_.request(nullptr, [this, taken, settings = settings_of(now)](const FileFailure&) {
    left_failure_ = without_exceptions(
        "drain", [&] { return staging::recover_taken(std::exchange(*taken, {}), settings).failure; });
  });
}

void RankFile::leave() {
  tier_->note_closed(false);  // where that cannot be told, others may take it for a rank that goes on
}

void RankFile::close_in_background() {
  if (undrained_ != nullptr) {
    without_exceptions("drain", [this] {
      drain_left_in_background();
      return FileFailure{};
    });
    return;
  }
  tier_->note_closed();  // where that cannot be told, no process waits for it
  background_.request(tier_, [this, keeps_folder = !hints().discard](const FileFailure& failure) {
    failed_in_background_ = failure || without_exceptions("drain", [&] { return tier_->finish(keeps_folder); });
    // Others that wait for the log go on: `finish` of this process may come much later.
    tier_ = nullptr;
  });
}

void RankFile::set_begun(std::optional<std::uint64_t> bytes) {
  const base::LockGuard lock(mutex_);
  begun_ = bytes;
}

std::optional<std::uint64_t> RankFile::take_begun() {
  const base::LockGuard lock(mutex_);
  return std::exchange(begun_, std::nullopt);
}

}  // namespace dovetail::interpose::mpiio
