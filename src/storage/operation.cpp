#include "storage/operation.hpp"

#include <limits>

#include "dovetail/failure.hpp"
#include "tasking/pause.hpp"

namespace dovetail::storage {
namespace {

// Whether the calling core should not spend the time that it takes to copy so much.
bool is_long_copy(const OpenFile& file, std::uint64_t bytes) noexcept { return !file.stream() && bytes > most_inline; }

}  // namespace

void set_up(Request& request, OpenFile& file, const Operation& operation) noexcept {
  request.file = &file;
  request.kind = operation.kind;
  request.offset = operation.offset;
  request.lane = lane_of(operation.kind, false, operation.length);
  request.urgency = file.urgency();
  if (!transfers(operation.kind)) {
    request.descriptor = file.descriptor();
    if (operation.kind == Kind::fallocate) {
      request.length = operation.length;
      request.mode = operation.mode;
    }
    return;
  }
  request.descriptor = file.cached_descriptor();
  request.remaining = operation.length;
  request.durable = operation.durable;
  request.off_core = is_long_copy(file, operation.length);
  if (vectored(operation.kind)) {
    request.vectors = operation.vectors.data();
  } else {
    request.data = operation.data;
  }
}

void run_paused(Request& request, Device* device, const StorageService::Here& here) {
  request.task = tasking::current_task();
  request.cancellable = !tasking::cancel_requested(request.task);
  request.ended = [](Request& ended) noexcept { tasking::wake(ended.task); };
  tasking::prepare_pause(request.task);
  here.service->start(request, device, here.worker);
  tasking::pause(request.task, tasking::WaitReason::io, &request);
}

Outcome outcome_of(const Request& request, const Operation& operation) noexcept {
  Outcome outcome{request.transferred, request.error, operation.offset + request.transferred,
                  operation.length - request.transferred, Kind::nop};
  if (request.error != 0) {
    outcome.kind = request.kind;
  }
  return outcome;
}

std::exception_ptr failure_of(const OpenFile& file, const Outcome& outcome) noexcept {
  return std::make_exception_ptr(
      IoError(outcome.error, name_of(outcome.kind), file.path(), outcome.offset, outcome.left));
}

std::uint64_t total_length(std::span<const iovec> vectors) noexcept {
  std::uint64_t sum = 0;
  for (const iovec& vector : vectors) {
    if (__builtin_add_overflow(sum, vector.iov_len, &sum)) {
      return std::numeric_limits<std::uint64_t>::max();
    }
  }
  return sum;
}

}  // namespace dovetail::storage
