// Writes that the program makes itself, behind all queued ones. It does so where deferring them would gain nothing, or where no space can
// be reserved for them.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.hpp"
#include "staging/staged_file.hpp"

namespace dovetail::staging {
namespace {

// A program that does something else between two writes, for at least this part of what a write takes, gains by copies.
constexpr std::uint64_t most_between_writes = 4;

// A limit of the process on the size of its files, with a signal of its own.
bool exceeds_limit(std::uint64_t end) noexcept {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && end > limit.rlim_cur;
}

}  // namespace

// Why the write is not to be deferred. The reasons: no space can be reserved for it, its caller waits for it anyway, or it belongs to the
// beginning of a file. The last two hold only with nothing before it. Null: it is deferred.
const char* StagedFile::reason_to_write_at_once(base::ByteRange range, const WriteRequest& how) noexcept {
  if (space_ == nullptr) {
    return "the file system cannot keep room for writes";
  }
  if (exceeds_limit(range.end())) {
    return "the limit of the size of files (ulimit -f)";
  }
  const Lock lock(stage_.mutex);
  if (!settled() || space_->is_held()) {
    return nullptr;
  }
  if (how.awaited) {
    return "flushes with nothing else to write";
  }
  return how.transfers == nullptr && range.length <= beginning_left_ ? "the beginning of a file" : nullptr;
}

// A file in memory takes bytes about as fast as they can be copied. A program that does nothing but
// write fills the buffers. From then on two processors would move every byte twice, and it would wait for the slower of them.
bool StagedFile::copies_gain_nothing() const noexcept {
  return fast_ && base::nanoseconds() - in_place_until_ < in_place_took_ / most_between_writes;
}

// In its place among the writes: behind all that are queued.
Answer StagedFile::write_in_place(base::ByteRange range, const std::byte* data, const char* reason) {
  settle(&Statistics::waited_for_space);
  const std::uint64_t begun = base::nanoseconds();
  const Answer answer = write_now(range, data, reason);
  in_place_until_ = base::nanoseconds();
  in_place_took_ = in_place_until_ - begun;
  beginning_left_ -= std::min(beginning_left_, range.length);
  return answer;
}

// The answer is the file system's to a plain write. All pending writes to it are made first, and no space is held back from this one.
Answer StagedFile::write_unreserved(base::ByteRange range, const std::byte* data, const char* reason) {
  if (space_ != nullptr) {
    const Lock lock(stage_.mutex);
    stage_.wait(stage_.statistics.waited_for_room, [this]() REQUIRES(stage_lock) { return space_->unused(); });
    space_->yield();
  }
  const Answer answer = write_in_place(range, data, reason);
  if (space_ != nullptr) {
    const Lock lock(stage_.mutex);
    space_->written();
  }
  return answer;
}

Answer StagedFile::write_now(base::ByteRange range, const std::byte* data, const char* reason) {
  {
    const Lock lock(stage_.mutex);
    ++stage_.statistics.foreground[reason];
  }
  while (range.length > 0) {
    const ssize_t written = ::pwrite(descriptor(), data, range.length, static_cast<off_t>(range.offset));
    if (written < 0 && errno != EINTR) {
      return {errno, range.offset};
    }
    if (written > 0) {
      const auto bytes = static_cast<std::size_t>(written);
      counted_.moved(device::Direction::write, bytes);
      const Lock lock(stage_.mutex);
      queue_->written({range.offset, bytes});
      data += bytes;
      range = {range.offset + bytes, range.length - bytes};
    }
  }
  return {};
}

}  // namespace dovetail::staging
