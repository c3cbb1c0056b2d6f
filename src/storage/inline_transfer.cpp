// Transfers that the calling core does at once, because to hand them over would cost more than to do them.
#include <sys/uio.h>

#include <cerrno>

#include "storage/bound.hpp"
#include "storage/uninterposed.hpp"

namespace dovetail::storage {
namespace {

std::int64_t transfer_now(const Request& request, int flags) noexcept {
  const Uninterposed own;
  const Attempt attempt = attempt_of(request);
  iovec single{attempt.address, attempt.length};
  const bool many = vectored(attempt.kind);
  const iovec* vectors = many ? static_cast<const iovec*>(attempt.address) : &single;
  const int count = many ? static_cast<int>(attempt.length) : 1;
  const auto offset = static_cast<off_t>(attempt.offset);
  const ssize_t result = reads(request.kind) ? ::preadv2(request.descriptor, vectors, count, offset, flags)
                                             : ::pwritev2(request.descriptor, vectors, count, offset, flags);
  return result < 0 ? -errno : result;
}

}  // namespace

bool try_inline(Request& request, OpenFile& file) noexcept {
  if (!transfers(request.kind) || request.durable || request.descriptor == file.direct_descriptor()) {
    return false;
  }
  if (request.remaining > most_inline) {
    return false;
  }
  const bool in_memory = file.device().in_memory;
  if (!in_memory && (writes(request.kind) || !file.expects_hit())) {
    return false;
  }
  plan_attempt(request);
  for (;;) {
    const std::int64_t result = transfer_now(request, in_memory ? 0 : RWF_NOWAIT);
    if (!in_memory && (result == -EAGAIN || result == -EOPNOTSUPP)) {
      file.note_hit(false);
      return false;
    }
    if (!attempt_done(request, result)) {
      file.note_hit(true);
      return true;
    }
  }
}

}  // namespace dovetail::storage
