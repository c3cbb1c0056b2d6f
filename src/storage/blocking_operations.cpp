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
  FileUse use;
  std::function<void()> body;
  detail::Task* task = nullptr;

  BoundBody(FileUse used, std::function<void()> called) : use(std::move(used)), body(std::move(called)) {
    run = [](tasking::BlockingWork* work) {
      std::unique_ptr<BoundBody> self(static_cast<BoundBody*>(work));
      std::exception_ptr failure = failure_of(self->body);
      detail::Task* const bound_task = self->task;
      self.reset();  // before the task completes: the file may be closed then
      tasking::fulfill_event(bound_task, std::move(failure));
    };
  }
};

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

void bind_blocking(FileUse use, std::function<void()> body) {
  if (tasking::task_that_binds() == nullptr) {
    body();
  } else if (tasking::current_worker() < 0) {
    if (std::exception_ptr failure = failure_of(body)) {
      tasking::fulfill_event(tasking::bind_event(), std::move(failure));
    }
  } else {
    auto bound = std::make_unique<BoundBody>(std::move(use), std::move(body));
    bound->task = tasking::bind_event();
    tasking::post_blocking(*tasking::current_runtime(), bound.release());
  }
}

std::uint64_t perform_by_operations(OpenFile& file, const Operation& operation) {
  FileOperations& operations = *file.operations();
  std::uint64_t bytes = 0;
  if (!operations.try_perform(operation, bytes)) {
    call_blocking([&] { bytes = operations.perform(operation); });
  }
  tasking::count_moved(bytes);
  return bytes;
}

void bind_to_operations(OpenFile& file, FileUse use, const Operation& operation, std::size_t* transferred) {
  // The list of buffers ends with the call.
  std::vector<iovec> vectors(operation.vectors.begin(), operation.vectors.end());
  tasking::Ticket* const ticket = tasking::ticket_of(tasking::current_task());
  bind_blocking(std::move(use), [&file, ticket, asked = operation, vectors = std::move(vectors), transferred] {
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
