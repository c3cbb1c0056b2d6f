// Transfers that the calling core does at once, because to hand them over would cost more than to do them.
#include <sys/uio.h>

#include <cerrno>

#include "storage/bound.hpp"
#include "storage/uninterposed.hpp"

namespace dovetail::storage {
namespace {

// What must be waited for is not for the calling core. In memory nothing is.
int flags_for(const OpenFile& file) noexcept { return file.device().in_memory ? 0 : RWF_NOWAIT; }

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

FirstResult read_at_once(OpenFile& file, const Operation& operation) noexcept {
  if (operation.kind != Kind::read || operation.length > most_inline || file.direct_descriptor() >= 0 ||
      file.stream() || !(file.device().in_memory || file.expects_hit())) {
    return not_tried;
  }
  const Uninterposed own;
  const iovec whole{operation.data, operation.length};
  const ssize_t result =
      ::preadv2(file.cached_descriptor(), &whole, 1, static_cast<off_t>(operation.offset), flags_for(file));
  if (result == static_cast<ssize_t>(operation.length)) {
    file.note_hit(true);
  }
  return result < 0 ? -errno : result;
}

bool try_inline(Request& request, OpenFile& file, FirstResult first) noexcept {
  const bool begun = first != not_tried;
  if (!transfers(request.kind) || request.durable || request.descriptor == file.direct_descriptor() || file.stream()) {
    return false;
  }
  if (request.remaining > most_inline) {
    return false;
  }
  const bool in_memory = file.device().in_memory;
  if (!in_memory && !begun && (writes(request.kind) || !file.expects_hit())) {
    return false;
  }
  plan_attempt(request);
  for (std::int64_t result = begun ? first : not_tried;; result = not_tried) {
    if (result == not_tried) {
      result = transfer_now(request, flags_for(file));
    }
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
