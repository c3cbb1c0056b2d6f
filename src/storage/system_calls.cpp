#include "storage/system_calls.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "storage/uninterposed.hpp"

namespace dovetail::storage {
namespace {

std::int64_t or_errno(std::int64_t result) noexcept { return result < 0 ? -errno : result; }

std::int64_t transfer(const Request& request) noexcept {
  const Attempt attempt = attempt_of(request);
  const auto offset = static_cast<off_t>(attempt.offset);
  const auto* vectors = static_cast<const iovec*>(attempt.address);
  if (attempt.kind == Kind::poll) {
    pollfd ready{request.descriptor, static_cast<short>(attempt.length), 0};
    return or_errno(::poll(&ready, 1, -1));
  }
  if (attempt.offset == no_offset) {
    const iovec single{attempt.address, attempt.length};
    const bool many = vectored(attempt.kind);
    const iovec* const list = many ? vectors : &single;
    const int count = many ? static_cast<int>(attempt.length) : 1;
    return or_errno(reads(attempt.kind) ? ::readv(request.descriptor, list, count)
                                        : ::writev(request.descriptor, list, count));
  }
  switch (attempt.kind) {
    case Kind::read:
      return or_errno(::pread(request.descriptor, attempt.address, attempt.length, offset));
    case Kind::write:
      return or_errno(::pwrite(request.descriptor, attempt.address, attempt.length, offset));
    case Kind::readv:
      return or_errno(::preadv(request.descriptor, vectors, static_cast<int>(attempt.length), offset));
    default:
      return or_errno(::pwritev(request.descriptor, vectors, static_cast<int>(attempt.length), offset));
  }
}

}  // namespace

std::int64_t call_system(const Request& request) noexcept {
  const Uninterposed own;
  const auto offset = static_cast<off_t>(request.offset);
  switch (request.kind) {
    case Kind::nop:
      return 0;
    case Kind::fsync:
      return or_errno(::fsync(request.descriptor));
    case Kind::fdatasync:
      return or_errno(::fdatasync(request.descriptor));
    case Kind::fallocate:
      return or_errno(::fallocate(request.descriptor, request.mode, offset, static_cast<off_t>(request.length)));
    case Kind::open:
      return or_errno(::open(request.path, request.mode, static_cast<mode_t>(request.offset)));
    default:
      return transfer(request);
  }
}

void call_to_end(Request& request) noexcept {
  plan_attempt(request);
  std::int64_t result = 0;
  do {
    result = call_system(request);
  } while (attempt_done(request, result));
}

}  // namespace dovetail::storage
