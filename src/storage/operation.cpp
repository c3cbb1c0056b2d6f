#include "storage/operation.hpp"

#include <sys/mman.h>
#include <sys/uio.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <exception>
#include <limits>

#include "dovetail/failure.hpp"
#include "storage/bounce.hpp"
#include "storage/bound.hpp"
#include "storage/pieces.hpp"
#include "storage/storage_service.hpp"
#include "storage/system_calls.hpp"
#include "tasking/pause.hpp"

namespace dovetail::storage {
namespace {

void wake_task(Request& request) noexcept { tasking::wake(request.task); }

// Runs one request to its end while its task is paused.
void run_paused(Request& request, LearnedDevice* device, const StorageService::Here& here) {
  request.task = tasking::current_task();
  request.cancellable = !tasking::cancel_requested(request.task);
  request.ended = wake_task;
  tasking::prepare_pause(request.task);
  here.service->start(request, device, here.worker);
  tasking::pause(request.task, tasking::WaitReason::io, &request);
}

// Several requests that one task waits for.
struct Join {
  std::atomic<unsigned> left;
  detail::Task* task;
};
struct JoinedRequest : Request {
  Join* join = nullptr;
};

void join_ended(Request& request) noexcept {
  Join* join = static_cast<JoinedRequest&>(request).join;
  return_bounce(request);
  if (join->left.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    tasking::wake(join->task);
  }
}

Outcome perform_pieces(OpenFile& file, const Operation& operation, const Pieces& pieces,
                       const StorageService::Here& here) {
  JoinedRequest requests[most_pieces];
  Join join{pieces.count, tasking::current_task()};
  const bool cancellable = !tasking::cancel_requested(join.task);
  bool bounce[most_pieces] = {};
  for (unsigned i = 0; i < pieces.count; ++i) {
    requests[i].join = &join;
    requests[i].ended = join_ended;
    requests[i].task = join.task;
    requests[i].cancellable = cancellable;
    set_up(requests[i], file, operation, pieces.piece[i], bounce[i]);
  }
  tasking::prepare_pause(join.task);
  for (unsigned i = 0; i < pieces.count; ++i) {
    start_piece(requests[i], bounce[i], here);
  }
  tasking::pause(join.task, tasking::WaitReason::io, &join);
  Request results[most_pieces];
  std::copy_n(requests, pieces.count, results);
  return combine(results, pieces, operation);
}

// Everywhere but on a compute worker: the calling thread blocks.
Outcome perform_in_place(OpenFile& file, const Operation& operation, const Pieces& pieces) {
  Request requests[most_pieces];
  for (unsigned i = 0; i < pieces.count; ++i) {
    bool needs_bounce = false;
    set_up(requests[i], file, operation, pieces.piece[i], needs_bounce);
    BounceBuffer own;
    if (needs_bounce) {
      void* memory = mmap(nullptr, BounceBuffer::size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (memory == MAP_FAILED) {
        requests[i].error = ENOMEM;
        break;
      }
      own.data = static_cast<std::byte*>(memory);
      requests[i].bounce = &own;
    }
    call_to_end(requests[i]);
    if (own.data != nullptr) {
      munmap(own.data, BounceBuffer::size);
      requests[i].bounce = nullptr;
    }
    if (requests[i].error != 0 || requests[i].remaining > 0) {
      break;
    }
  }
  return combine(requests, pieces, operation);
}

Outcome perform_counted(OpenFile& file, const Operation& operation, const StorageService::Here& here) {
  const FirstResult first = here.service != nullptr ? transfer_at_once(file, operation, *here.service) : not_tried;
  if (first >= 0 && static_cast<std::uint64_t>(first) == operation.length) {
    return {operation.length};
  }
  const Pieces pieces = pieces_of(file, operation);
  if (here.service == nullptr) {
    return perform_in_place(file, operation, pieces);
  }
  Request request;
  bool needs_bounce = false;
  if (pieces.count > 1) {
    return perform_pieces(file, operation, pieces, here);
  }
  set_up(request, file, operation, pieces.piece[0], needs_bounce);
  if (needs_bounce) {
    return perform_pieces(file, operation, pieces, here);
  }
  request.task = tasking::current_task();
  if (!try_inline(request, file, *here.service, first)) {
    run_paused(request, file.queued_at(), here);
  }
  return combine(&request, pieces, operation);
}

// Starts the operation bound to the current task, and returns true; or performs it where that is as good or nothing else is
// possible.
bool start_or_perform(OpenFile& file, const Operation& operation, std::size_t* transferred, Outcome& outcome) {
  if (transfers(operation.kind) && operation.length == 0) {
    outcome = {};
    return false;
  }
  const StorageService::Here here = StorageService::here();
  const Pieces pieces = pieces_of(file, operation);
  if (here.service == nullptr) {
    outcome = perform_in_place(file, operation, pieces);
    return false;
  }
  if (pieces.count == 1 && !pieces.piece[0].direct) {
    Request request;
    bool needs_bounce = false;
    set_up(request, file, operation, pieces.piece[0], needs_bounce);
    if (try_inline(request, file, *here.service)) {
      outcome = combine(&request, pieces, operation);
      return false;
    }
  }
  detail::Task* task = tasking::bind_event();
  if (task == nullptr) {
    outcome = perform_in_place(file, operation, pieces);
    return false;
  }
  try {
    start_bound(file, operation, pieces, transferred, task, here);
  } catch (...) {
    file.end();
    tasking::fulfill_event(task, std::current_exception());
  }
  return true;
}

StorageService::Here here_in_task() noexcept {
  const StorageService::Here here = StorageService::here();
  return here.service != nullptr && tasking::current_task() != nullptr && tasking::pause_switches()
             ? here
             : StorageService::Here{};
}

}  // namespace

bool can_pause() noexcept { return here_in_task().service != nullptr; }

Outcome perform(OpenFile& file, const Operation& operation) {
  if (!file.begin()) {
    return {0, EBADF, operation.offset, operation.length, operation.kind};
  }
  if (transfers(operation.kind) && operation.length == 0) {
    file.end();
    return {};
  }
  const Outcome outcome = perform_counted(file, operation, here_in_task());
  file.end();
  return outcome;
}

void bind(OpenFile& file, const Operation& operation, std::size_t* transferred) {
  Outcome outcome{0, EBADF, operation.offset, operation.length, operation.kind};
  if (file.begin()) {
    if (start_or_perform(file, operation, transferred, outcome)) {
      return;
    }
    file.end();
  }
  if (transferred != nullptr) {
    *transferred = outcome.bytes;
  }
  if (outcome.error != 0) {
    std::exception_ptr cause = failure_of(file, outcome);
    detail::Task* task = tasking::bind_event();
    if (task == nullptr) {
      std::rethrow_exception(cause);
    }
    tasking::fulfill_event(task, std::move(cause));
  }
}

Outcome open_descriptor(const char* path, int flags, unsigned mode) {
  Request request;
  request.kind = Kind::open;
  request.path = path;
  request.mode = flags;
  request.offset = mode;
  request.lane = metadata;
  const StorageService::Here here = here_in_task();
  if (here.service == nullptr) {
    call_to_end(request);
  } else {
    run_paused(request, &no_device(), here);
  }
  return {request.transferred, request.error, 0, 0, Kind::open};
}

void nop() {
  const StorageService::Here here = here_in_task();
  if (here.service != nullptr) {
    Request request;
    run_paused(request, nullptr, here);
  }
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
