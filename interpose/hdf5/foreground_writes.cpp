// Writes that the program makes itself, behind all that are queued: where deferring them would gain nothing, or where no room can be kept
// for them.
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>

#include "deferred_file.hpp"

namespace dovetail::hdf5 {
namespace {

// A program that does something else between two writes, for at least this part of what a write takes, gains by copies.
constexpr std::uint64_t most_between_writes = 4;

// A limit of the process on the size of its files, with a signal of its own.
bool exceeds_limit(std::uint64_t end) noexcept {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && end > limit.rlim_cur;
}

}  // namespace

// Why the write is not to be deferred: no room can be kept for it, or its caller waits for it anyway and nothing is before it. Null: it is.
const char* DeferredFile::reason_to_write_at_once(std::uint64_t end) noexcept {
  if (room_ == nullptr) {
    return "the file system cannot keep room for writes";
  }
  if (exceeds_limit(end)) {
    return "the limit of the size of files (ulimit -f)";
  }
  const bool flushes = current_operation().flushes() && (flush_waits_ || identifier_closed_);
  const Lock lock(Background::instance().mutex);
  return flushes && settled() && !room_->held() ? "flushes with nothing else to write" : nullptr;
}

// A file in memory takes bytes about as fast as they can be copied. A program that has filled the buffers of such a file and does
// nothing but write would have every byte moved twice, by two processors, and would wait for the slower of them.
bool DeferredFile::copies_gain_nothing() const noexcept {
  return fast_ && now() - in_place_until_ < in_place_took_ / most_between_writes;
}

// In its place among the writes: behind all that are queued.
Answer DeferredFile::write_in_place(std::uint64_t offset, const std::byte* data, std::size_t length, Cause cause,
                                    const char* reason) {
  settle(cause);
  const std::uint64_t begun = now();
  const Answer answer = write_now(offset, data, length, reason);
  in_place_until_ = now();
  in_place_took_ = in_place_until_ - begun;
  return answer;
}

// The file system says what it says natively: all that is pending on it is written first, and nothing is kept from this write.
Answer DeferredFile::write_without_room(std::uint64_t offset, const std::byte* data, std::size_t length,
                                        const char* reason) {
  if (room_ != nullptr) {
    Background& background = Background::instance();
    Lock lock(background.mutex);
    background.wait(lock, Cause::room, [&] { return room_->unused(); });
    room_->yield(lock);
  }
  const Answer answer = write_in_place(offset, data, length, Cause::room, reason);
  if (room_ != nullptr) {
    const Lock lock(Background::instance().mutex);
    room_->written();
  }
  return answer;
}

Answer DeferredFile::write_now(std::uint64_t offset, const std::byte* data, std::size_t length, const char* reason) {
  {
    Background& background = Background::instance();
    const Lock lock(background.mutex);
    ++background.report.foreground[reason];
  }
  while (length > 0) {
    const ssize_t written = ::pwrite(descriptor(), data, length, static_cast<off_t>(offset));
    if (written < 0 && errno != EINTR) {
      return {errno, offset};
    }
    if (written > 0) {
      const Lock lock(Background::instance().mutex);
      queue_->written({offset, static_cast<std::size_t>(written)});
      data += written;
      offset += static_cast<std::uint64_t>(written);
      length -= static_cast<std::size_t>(written);
    }
  }
  return {};
}

}  // namespace dovetail::hdf5
