#include "storage/blocking_operations.hpp"

#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "storage/file_operations.hpp"
#include "tasking/gate.hpp"
#include "tasking/moved_bytes.hpp"
#include "tasking/pause.hpp"
#include "tasking/service.hpp"

namespace dovetail::storage {
namespace {

std::exception_ptr failure_of(const std::function<void()>& body) noexcept {
  try {
    body();
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

// Lies on the stack of the paused task.
struct PausedBody : tasking::BlockingWork {
  const std::function<void()>* body = nullptr;
  detail::Task* task = nullptr;
  std::exception_ptr failure;

  static void begin(tasking::BlockingWork* work) {
    auto& self = *static_cast<PausedBody*>(work);
    self.failure = failure_of(*self.body);
    tasking::wake(self.task);
  }
};

// Deletes itself.
struct BoundBody : tasking::BlockingWork {
  std::function<void()> body;
  OpenFile* file = nullptr;
  detail::Task* task = nullptr;

  static void begin(tasking::BlockingWork* work) {
    const std::unique_ptr<BoundBody> self(static_cast<BoundBody*>(work));
    std::exception_ptr failure = failure_of(self->body);
    self->body = nullptr;
    self->file->end();
    tasking::fulfill_event(self->task, std::move(failure));
  }
};

std::unique_ptr<BoundBody> made_for(OpenFile& file) {
  try {
    auto bound = std::make_unique<BoundBody>();
    bound->run = BoundBody::begin;
    bound->file = &file;
    return bound;
  } catch (...) {
    file.end();
    throw;
  }
}

}  // namespace

void call_blocking(const std::function<void()>& body) {
  if (tasking::current_task() == nullptr || !tasking::pause_switches()) {
    body();
    return;
  }
  PausedBody paused;
  paused.run = PausedBody::begin;
  paused.body = &body;
  paused.task = tasking::current_task();
  tasking::prepare_pause(paused.task);
  tasking::post_blocking(*tasking::current_runtime(), &paused);
  tasking::pause(paused.task, tasking::WaitReason::io, &paused);
  if (paused.failure != nullptr) {
    std::rethrow_exception(std::move(paused.failure));
  }
}

void bind_blocking(OpenFile& file, std::function<void()> body) {
  detail::RuntimeCore* const core = tasking::current_runtime();
  if (tasking::task_that_binds() == nullptr) {
    const FileUse use(file);
    body();
  } else if (tasking::current_worker() < 0) {
    const FileUse use(file);
    if (std::exception_ptr failure = failure_of(body)) {
      tasking::fulfill_event(tasking::bind_event(), std::move(failure));
    }
  } else {
    std::unique_ptr<BoundBody> bound = made_for(file);
    bound->body = std::move(body);
    bound->task = tasking::bind_event();
    tasking::post_blocking(*core, bound.release());
  }
}

std::uint64_t perform_by_operations(OpenFile& file, const Operation& operation) {
  const FileUse use(file);
  FileOperations& operations = *file.operations();
  std::uint64_t bytes = 0;
  if (operations.is_short(operation)) {
    bytes = operations.perform(operation);
  } else {
    call_blocking([&] { bytes = operations.perform(operation); });
  }
  tasking::count_moved(bytes);
  return bytes;
}

void bind_to_operations(OpenFile& file, const Operation& operation, std::size_t* transferred) {
  // The list of buffers ends with the call.
  const std::vector<iovec> vectors(operation.vectors.begin(), operation.vectors.end());
  tasking::Ticket* const ticket = tasking::ticket_of(tasking::current_task());
  bind_blocking(file, [&file, ticket, asked = operation, vectors, transferred] {
    Operation kept = asked;
    kept.vectors = vectors;
    const std::uint64_t bytes = file.operations()->perform_bound(kept);
    if (ticket != nullptr) {
      ticket->count_moved(bytes);
    }
    if (transferred != nullptr) {
      *transferred = bytes;
    }
  });
}

}  // namespace dovetail::storage
