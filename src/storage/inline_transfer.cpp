#include "storage/inline_transfer.hpp"

#include <sys/uio.h>

#include <cerrno>

#include "base/clock.hpp"
#include "storage/request_trace.hpp"
#include "storage/storage_service.hpp"
#include "storage/uninterposed.hpp"
#include "trace/trace.hpp"

namespace dovetail::storage {
namespace {

std::int64_t result_of(ssize_t result) noexcept { return result < 0 ? -errno : result; }

std::int64_t write_now(int descriptor, const iovec* vectors, int count, off_t offset) noexcept {
  const Uninterposed own;
  return result_of(::pwritev(descriptor, vectors, count, offset));
}

std::int64_t read_now(const OpenFile& file, int descriptor, const iovec* vectors, int count, off_t offset) noexcept {
  const Uninterposed own;
  // The calling core does not wait for a device. In memory there is no wait.
  return result_of(::preadv2(descriptor, vectors, count, offset, file.device().in_memory ? 0 : RWF_NOWAIT));
}

// A write is a copy, by all that is known.
InPlaceWrites::Attempt begin_write(const OpenFile& file, const StorageService& service) noexcept {
  if (service.engine_is_given() || !file.write_is_copy()) {
    return {.allowed = false, .begin = 0, .waits = 0};
  }
  return file.device().in_place_writes.begin(base::ticks());
}

void end_write(const OpenFile& file, const InPlaceWrites::Attempt& attempt, std::uint64_t bytes) noexcept {
  file.device().in_place_writes.ended(attempt, base::ticks(), bytes);
}

std::int64_t attempt_now(const Request& request, const OpenFile& file) noexcept {
  const Attempt attempt = attempt_of(request);
  iovec single{attempt.address, attempt.length};
  const bool many = vectored(attempt.kind);
  const iovec* vectors = many ? static_cast<const iovec*>(attempt.address) : &single;
  const int count = many ? static_cast<int>(attempt.length) : 1;
  const auto offset = static_cast<off_t>(attempt.offset);
  return reads(request.kind) ? read_now(file, request.descriptor, vectors, count, offset)
                             : write_now(request.descriptor, vectors, count, offset);
}

FirstResult write_at_once(const OpenFile& file, int descriptor, const Operation& operation,
                          const StorageService& service) noexcept {
  if (operation.durable || trace::enabled()) {
    return not_tried;  // the trace is told of a request
  }
  const iovec whole{operation.data, operation.length};
  if (file.device().in_memory) {
    return write_now(descriptor, &whole, 1, static_cast<off_t>(operation.offset));
  }
  const InPlaceWrites::Attempt attempt = begin_write(file, service);
  if (!attempt.allowed) {
    return not_tried;
  }
  const FirstResult result = write_now(descriptor, &whole, 1, static_cast<off_t>(operation.offset));
  end_write(file, attempt, operation.length);
  return result;
}

FirstResult read_at_once(OpenFile& file, int descriptor, const Operation& operation) noexcept {
  if (!file.device().in_memory && !file.expects_hit()) {
    return not_tried;
  }
  const iovec whole{operation.data, operation.length};
  const FirstResult result = read_now(file, descriptor, &whole, 1, static_cast<off_t>(operation.offset));
  if (result == static_cast<FirstResult>(operation.length)) {
    file.note_hit(true);
  }
  return result;
}

}  // namespace

FirstResult transfer_at_once(OpenFile& file, const Operation& operation, const StorageService& service) noexcept {
  if (operation.length > most_inline || file.stream()) {
    return not_tried;
  }
  switch (operation.kind) {
    case Kind::read:
      return read_at_once(file, file.cached_descriptor(), operation);
    case Kind::write:
      return write_at_once(file, file.cached_descriptor(), operation, service);
    default:
      return not_tried;
  }
}

bool try_inline(Request& request, OpenFile& file, const StorageService& service, FirstResult first) noexcept {
  if (!transfers(request.kind) || request.durable || file.stream() || request.remaining > most_inline) {
    return false;
  }
  const bool read = reads(request.kind);
  const bool asks = !file.device().in_memory && first == not_tried;
  InPlaceWrites::Attempt attempt{};
  if (asks && read && !file.expects_hit()) {
    return false;
  }
  if (asks && !read) {
    attempt = begin_write(file, service);
    if (!attempt.allowed) {
      return false;
    }
  }
  if (!read) {
    trace_begin(request);
  }
  const std::uint64_t bytes = request.remaining;
  plan_attempt(request);
  for (FirstResult result = first == not_tried ? attempt_now(request, file) : first;;
       result = attempt_now(request, file)) {
    if (read && !file.device().in_memory && (result == -EAGAIN || result == -EOPNOTSUPP)) {
      file.note_hit(false);
      return false;
    }
    if (!attempt_done(request, result)) {
      break;
    }
  }
  if (read) {
    file.note_hit(true);
    return true;
  }
  trace_end(request);
  if (attempt.allowed) {
    end_write(file, attempt, bytes);
  }
  return true;
}

}  // namespace dovetail::storage
