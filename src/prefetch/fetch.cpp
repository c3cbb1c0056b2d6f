#include "prefetch/fetch.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "device/device.hpp"
#include "device/request_facts.hpp"
#include "prefetch/page_cache.hpp"
#include "storage/open_file.hpp"
#include "storage/uninterposed.hpp"
#include "trace/trace.hpp"

namespace dovetail::prefetching {
namespace {

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t most_bytes = std::uint64_t{4} << 20;
constexpr std::size_t most_pieces = 32;
constexpr std::uint64_t bytes_of_a_turn = std::uint64_t{64} << 20;
constexpr std::size_t bytes_together = 64 * 1024;  // that are read where advice does nothing
constexpr std::size_t most_pieces_beside_others = 2;

/// Keeps the descriptor open meanwhile; -1: the file is closed, or a number of the program's leads to another file now.
class Use {
 public:
  explicit Use(const std::weak_ptr<storage::OpenFile>& file) noexcept {
    const std::shared_ptr<storage::OpenFile> shared = file.lock();
    if (shared == nullptr || !shared->begin()) {
      return;
    }
    file_ = shared.get();  // the last share may go: the operation in flight keeps it
    const int found = file_->direct_descriptor() >= 0 || file_->stream() ? -1 : file_->cached_descriptor();
    descriptor_ = file_->leads_here(found) ? found : -1;
  }
  ~Use() {
    if (file_ != nullptr) {
      file_->end();
    }
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

  storage::OpenFile& file() const noexcept { return *file_; }
  int descriptor() const noexcept { return descriptor_; }

 private:
  storage::OpenFile* file_ = nullptr;
  int descriptor_ = -1;
};

// Bytes read; -1: see errno.
ssize_t read_at(int descriptor, std::byte* target, std::size_t length, std::uint64_t offset, int flags) noexcept {
  const iovec buffer{target, length};
  ssize_t result = 0;
  do {
    result = preadv2(descriptor, &buffer, 1, static_cast<off_t>(offset), flags);
  } while (result < 0 && errno == EINTR);
  return result;
}

// Returns false if nothing is on its way.
bool ask_for(const Use& use, Range& range) noexcept {
  struct stat status{};
  if (fstat(use.descriptor(), &status) != 0) {
    return false;
  }
  if (S_ISREG(status.st_mode)) {
    range.end = std::min(range.end, static_cast<std::uint64_t>(status.st_size));
  }
  if (range.offset >= range.end || is_cached(use.descriptor(), range, syscall)) {
    return false;
  }
  return posix_fadvise(use.descriptor(), static_cast<off_t>(range.offset), static_cast<off_t>(range.end - range.offset),
                       POSIX_FADV_WILLNEED) == 0;
}

// Waits for the last byte. False: the first one is not there then, so the file system does not care for advice.
bool comes_by_advice(int descriptor, const Range& range) noexcept {
  std::byte byte{};
  if (read_at(descriptor, &byte, 1, range.end - 1, 0) != 1) {
    return true;
  }
  if (range.offset / page == (range.end - 1) / page) {
    return true;
  }
  const std::int64_t cached = cached_pages(descriptor, {range.offset, range.offset + 1}, syscall);
  if (cached >= 0) {
    return cached > 0;
  }
  // A kernel before 6.5. The question may begin to read that page, so that the answer is sometimes wrong.
  return read_at(descriptor, &byte, 1, range.offset, RWF_NOWAIT) >= 0 || errno != EAGAIN;
}

}  // namespace

void arrange(std::vector<Range>& ranges, const storage::OpenFile& file, const Settings& settings) {
  const std::uint64_t gap = settings.gap ? *settings.gap : device::request_facts_of(file.device().id).of_request;
  ranges.resize(arrange(ranges.data(), static_cast<std::uint32_t>(ranges.size()), gap, settings.window / 2));
}

InMemory in_memory(const std::weak_ptr<storage::OpenFile>& file, Range range) {
  const storage::Uninterposed plain;
  const Use use(file);
  if (use.descriptor() < 0) {
    return InMemory::unknown;
  }
  const std::int64_t pages = cached_pages(use.descriptor(), range, syscall);
  if (pages < 0) {
    return InMemory::unknown;
  }
  if (are_all(pages, range)) {
    return InMemory::all;
  }
  // What is known of the size will do: a server is not asked.
  struct statx status{};
  if (statx(use.descriptor(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_SIZE, &status) != 0 ||
      !S_ISREG(status.stx_mode)) {
    return InMemory::missing;
  }
  range.end = std::min<std::uint64_t>(range.end, status.stx_size);
  return range.offset >= range.end || are_all(pages, range) ? InMemory::all : InMemory::missing;
}

bool Fetch::has_room() const noexcept {
  const std::size_t most = program_reads_ ? most_pieces_beside_others : most_pieces;
  return under_way_.size() < most && (bytes_ < most_bytes || under_way_.size() < most_pieces_beside_others);
}

bool Fetch::next_piece(const Next& next, Piece& piece) {
  if (next_range_ >= wanted_.ranges.size()) {
    wanted_ = {};
    next_range_ = 0;
    done_ = 0;
    if (!next(wanted_)) {
      return false;
    }
    asked_ = 0;
    const std::shared_ptr<storage::OpenFile> file = wanted_.file.lock();
    advised_ = file != nullptr ? device::request_facts_of(file->device().id).advised : most_bytes;
    if (wanted_.ranges.empty()) {
      return next_piece(next, piece);
    }
  }
  const Range& range = wanted_.ranges[next_range_];
  const std::uint64_t begin = range.offset + done_;
  // The kernel reads whole pages: a piece that ends within one would have it asked for twice.
  const std::uint64_t end = std::min(range.end, (begin + advised_) / page * page);
  piece = {wanted_.file, {begin, std::max(end, std::min(begin + 1, range.end))}};
  done_ += piece.range.end - begin;
  if (piece.range.end >= range.end) {
    ++next_range_;
    done_ = 0;
  }
  return true;
}

void Fetch::wait_for_first(const Stop& stop) {
  const Piece& piece = under_way_.front();
  const std::uint64_t bytes = piece.range.end - piece.range.offset;
  bytes_ -= bytes;
  const bool is_there = bring(piece, stop);
  trace::io_completed(trace::number_of(&piece), is_there ? static_cast<std::int64_t>(bytes) : -ECANCELED);
  under_way_.pop_front();
}

// False: it was given up.
bool Fetch::bring(const Piece& piece, const Stop& stop) {
  {
    const Use use(piece.file);
    if (use.descriptor() < 0) {
      return false;
    }
    if (comes_by_advice(use.descriptor(), piece.range)) {
      return true;
    }
  }
  std::vector<std::byte> target(bytes_together);
  std::uint64_t at = piece.range.offset;
  while (at < piece.range.end && !stop()) {
    const Use use(piece.file);  // for each call, since closing the file waits for it
    const std::size_t length = std::min<std::uint64_t>(target.size(), piece.range.end - at);
    const ssize_t result = use.descriptor() < 0 ? -1 : read_at(use.descriptor(), target.data(), length, at, 0);
    if (result <= 0) {
      return false;
    }
    at += static_cast<std::uint64_t>(result);
  }
  return at >= piece.range.end;
}

void Fetch::forget() noexcept {
  for (const Piece& piece : under_way_) {
    trace::io_completed(trace::number_of(&piece), -ECANCELED);
  }
  under_way_.clear();
  bytes_ = 0;
  wanted_ = {};
  next_range_ = 0;
  done_ = 0;
}

bool Fetch::run(const Next& next, const Stop& stop) {
  const storage::Uninterposed plain;
  Piece piece;
  std::uint64_t looked_at = 0;
  program_reads_ = false;
  while (!stop()) {
    const bool is_over = looked_at >= bytes_of_a_turn;
    if (!is_over && has_room() && next_piece(next, piece)) {
      looked_at += piece.range.end - piece.range.offset;
      const Use use(piece.file);
      if (use.descriptor() >= 0 && ask_for(use, piece.range)) {
        program_reads_ = use.file().device().requests_under_way() > 0;
        bytes_ += piece.range.end - piece.range.offset;
        asked_ += piece.range.end - piece.range.offset;
        under_way_.push_back(piece);
        trace::io_submitted(trace::number_of(&under_way_.back()), trace::Transfer::ahead, "read ahead",
                            use.file().path(), piece.range.end - piece.range.offset, piece.range.offset);
      }
    } else if (!under_way_.empty()) {
      wait_for_first(stop);
    } else {
      return is_over;
    }
  }
  forget();
  return false;
}

}  // namespace dovetail::prefetching
