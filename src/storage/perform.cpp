#include "storage/perform.hpp"

#include <cerrno>
#include <exception>
#include <utility>

#include "dovetail/failure.hpp"
#include "storage/blocking_operations.hpp"
#include "storage/bound.hpp"
#include "storage/direct_transfer.hpp"
#include "storage/inline_transfer.hpp"
#include "storage/open_at_once.hpp"
#include "storage/storage_service.hpp"
#include "storage/system_calls.hpp"
#include "tasking/moved_bytes.hpp"
#include "tasking/pause.hpp"

namespace dovetail::storage {
namespace {

Outcome perform_cached(OpenFile& file, const Operation& operation, const StorageService::Here& here) {
  const FirstResult first = here.service != nullptr ? transfer_at_once(file, operation, *here.service) : not_tried;
  if (first >= 0 && static_cast<std::uint64_t>(first) == operation.length) {
    return {operation.length};
  }
  Request request;
  set_up(request, file, operation);
  if (here.service == nullptr) {
    call_to_end(request);  // everywhere but on a compute worker: the calling thread blocks
    if (transfers(operation.kind)) {
      file.device().moved(direction_of(operation.kind), request.transferred);
    }
  } else {
    request.task = tasking::current_task();
    if (!try_inline(request, file, *here.service, first)) {
      run_paused(request, file.queued_at(), here);
    }
  }
  return outcome_of(request, operation);
}

// Starts the operation bound to the current task, and returns true; or performs it where that is as good or nothing else is
// possible.
bool start_or_perform(OpenFile& file, const Operation& operation, std::size_t* transferred, Outcome& outcome) {
  const StorageService::Here here = StorageService::here();
  const bool direct = goes_direct(file, operation);
  if (here.service != nullptr && !direct) {
    Request request;
    set_up(request, file, operation);
    if (try_inline(request, file, *here.service)) {
      outcome = outcome_of(request, operation);
      return false;
    }
  }
  detail::Task* task = here.service != nullptr ? tasking::bind_event() : nullptr;
  if (task == nullptr) {
    outcome = (direct ? perform_direct : perform_cached)(file, operation, {});
    return false;
  }
  try {
    (direct ? start_bound_direct : start_bound)(file, operation, transferred, task, here);
  } catch (...) {
    file.end();
    tasking::fulfill_event(task, std::current_exception());
  }
  return true;
}

bool is_empty(const Operation& operation) noexcept { return transfers(operation.kind) && operation.length == 0; }

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
  if (file.operations() != nullptr) [[unlikely]] {
    const FileUse use(file);
    return {perform_by_operations(file, operation)};
  }
  Outcome outcome;
  if (!is_empty(operation)) {
    outcome = (goes_direct(file, operation) ? perform_direct : perform_cached)(file, operation, here_in_task());
    tasking::count_moved(outcome.bytes);
  }
  file.end();
  return outcome;
}

void bind(OpenFile& file, const Operation& operation, std::size_t* transferred) {
  Outcome outcome{0, EBADF, operation.offset, operation.length, operation.kind};
  if (file.begin()) {
    if (file.operations() != nullptr) [[unlikely]] {
      bind_to_operations(file, FileUse(file), operation, transferred);
      return;
    }
    if (is_empty(operation)) {
      outcome = {};
    } else if (start_or_perform(file, operation, transferred, outcome)) {
      return;
    }
    tasking::count_moved(outcome.bytes);
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
  const StorageService::Here here = here_in_task();
  if (here.service != nullptr && !here.service->engine_is_given()) {
    if (const int opened = open_at_once(path, flags); opened >= 0) {
      return {static_cast<std::uint64_t>(opened), 0, 0, 0, Kind::open};
    }
  }
  Request request;
  request.kind = Kind::open;
  request.path = path;
  request.mode = flags;
  request.offset = mode;
  request.lane = metadata;
  if (here.service == nullptr) {
    call_to_end(request);
  } else {
    run_paused(request, &device::no_device(), here);
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

}  // namespace dovetail::storage
