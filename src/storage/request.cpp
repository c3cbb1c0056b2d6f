#include "storage/request.hpp"

#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "storage/open_file.hpp"
#include "tasking/pause.hpp"

namespace dovetail::storage {
namespace {

// One system call moves at most 2 GiB less a page; a round number below keeps direct attempts aligned.
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30;

std::byte* place_in_vector(const Request& request) noexcept {
  return static_cast<std::byte*>(request.vectors->iov_base) + request.within_vector;
}

// Skips buffers that are empty or done, so that `vectors` is one with something left.
void skip_done_vectors(Request& request) noexcept {
  while (request.remaining > 0 && request.within_vector >= request.vectors->iov_len) {
    request.within_vector = 0;
    ++request.vectors;
  }
}

bool single_attempt(const Request& request, std::uint64_t most) noexcept {
  return request.within_vector > 0 || request.vectors->iov_len > most || request.vectors->iov_len > most_bytes;
}

std::uint32_t whole_vectors(const Request& request, std::uint64_t most) noexcept {
  std::uint32_t count = 0;
  std::uint64_t bytes = 0;
  while (count < IOV_MAX && bytes < most) {
    const std::uint64_t length = request.vectors[count].iov_len;
    if (bytes + length > most || bytes + length > most_bytes) {
      break;
    }
    bytes += length;
    ++count;
  }
  return count;
}

void advance(Request& request, std::uint64_t bytes) noexcept {
  request.offset += bytes;
  request.transferred += bytes;
  request.remaining -= bytes;
  if (!vectored(request.kind)) {
    request.data += bytes;
    return;
  }
  while (bytes > 0) {
    const std::uint64_t step = std::min<std::uint64_t>(bytes, request.vectors->iov_len - request.within_vector);
    bytes -= step;
    request.within_vector += step;
    if (request.within_vector == request.vectors->iov_len) {
      request.within_vector = 0;
      ++request.vectors;
    }
  }
}

bool is_stream(const Request& request) noexcept { return request.file != nullptr && request.file->stream(); }

// Takes what a transfer moved into account. Returns whether something is left to be moved.
bool advance_transfer(Request& request, std::int64_t result) noexcept {
  const std::uint64_t bytes = std::min(static_cast<std::uint64_t>(result), request.remaining);
  if (bytes == 0 && writes(request.kind) && request.remaining > 0) {
    // A write that moves nothing and gives no error would be tried for ever.
    request.error = EIO;
    return false;
  }
  bool ends = bytes == 0;
  if (request.adaptor != nullptr) [[unlikely]] {
    ends |= request.adaptor->moved(request, bytes);
  }
  advance(request, bytes);
  return request.remaining > 0 && !(reads(request.kind) && ends);
}

// All of a durable write is written. Returns whether it has to be synced yet; then that is the next attempt.
bool needs_sync(Request& request) noexcept {
  request.durable = false;
  request.kind = Kind::fdatasync;
  request.error = -request.synced;
  return request.error == 0;
}

// Past the page cache, Linux cuts what crosses the limit of file sizes down to it, and then refuses what is left as not aligned.
int true_error(const Request& request, int error) noexcept {
  rlimit limit{};
  const bool crosses = error == EINVAL && request.adaptor != nullptr && writes(request.kind) &&
                       getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
                       request.offset + request.remaining > limit.rlim_cur;
  return crosses ? EFBIG : error;
}

}  // namespace

std::uint8_t lane_of(Kind kind, bool direct, std::uint64_t bytes) noexcept {
  if (!transfers(kind)) {
    return metadata;
  }
  return static_cast<std::uint8_t>((direct ? 4 : 0) + (writes(kind) ? 2 : 0) + (bytes > device::small_request ? 1 : 0));
}

void plan_attempt(Request& request) noexcept {
  if (!transfers(request.kind)) {
    return;
  }
  if (vectored(request.kind)) {
    skip_done_vectors(request);
  }
  if (request.adaptor != nullptr) [[unlikely]] {
    request.adaptor->plan(request);
  } else {
    plan_up_to(request, request.remaining);
  }
}

void plan_up_to(Request& request, std::uint64_t most) noexcept {
  if (!vectored(request.kind)) {
    request.attempt = static_cast<std::uint32_t>(std::min(most, most_bytes));
  } else if (request.remaining == 0) {
    request.attempt = 0;
  } else if (single_attempt(request, most)) {
    const std::uint64_t left = request.vectors->iov_len - request.within_vector;
    request.attempt = static_cast<std::uint32_t>(std::min({left, most, most_bytes}));
  } else {
    request.attempt = whole_vectors(request, most);
  }
}

Attempt attempt_of(const Request& request) noexcept {
  if (!transfers(request.kind)) {
    return {request.kind, nullptr, 0, request.offset};
  }
  if (request.waits) [[unlikely]] {
    return {Kind::poll, nullptr, writes(request.kind) ? std::uint32_t{POLLOUT} : std::uint32_t{POLLIN}, 0};
  }
  return request.adaptor != nullptr ? request.adaptor->attempt(request) : attempt_up_to(request, request.remaining);
}

Attempt attempt_up_to(const Request& request, std::uint64_t most) noexcept {
  const std::uint64_t offset = is_stream(request) ? no_offset : request.offset;
  if (!vectored(request.kind)) {
    return {request.kind, request.data, request.attempt, offset};
  }
  if (request.remaining > 0 && single_attempt(request, most)) {
    const Kind plain = reads(request.kind) ? Kind::read : Kind::write;
    return {plain, place_in_vector(request), request.attempt, offset};
  }
  return {request.kind, const_cast<iovec*>(request.vectors), request.attempt, offset};
}

bool attempt_done(Request& request, std::int64_t result) noexcept {
  if (result < 0) {
    if (result == -EINTR || result == -EAGAIN) {
      // One in non-blocking mode: to try again at once would keep a core busy until the other end writes.
      request.waits = result == -EAGAIN && is_stream(request);
      return true;
    }
    request.error = true_error(request, static_cast<int>(-result));
    return false;
  }
  if (request.waits) {
    request.waits = false;
    return true;
  }
  if (request.kind == Kind::open) {
    request.transferred = static_cast<std::uint64_t>(result);
    return false;
  }
  if (!transfers(request.kind)) {
    return false;
  }
  if (advance_transfer(request, result)) {
    plan_attempt(request);
    return true;
  }
  return request.durable && request.error == 0 && needs_sync(request);
}

bool given_up(const Request& request) noexcept {
  return request.cancellable && tasking::cancel_requested(request.task);
}

}  // namespace dovetail::storage
