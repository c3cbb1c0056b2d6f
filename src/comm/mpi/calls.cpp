// What the inline functions of <dovetail/mpi.hpp> call.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "comm/mpi/delivery.hpp"
#include "comm/mpi/engine.hpp"
#include "comm/mpi/library.hpp"
#include "comm/mpi/loader.hpp"
#include "dovetail/mpi_error.hpp"

namespace dovetail::mpi {

Error::Error(const std::string& what, int code, int error_class, std::string call, int peer, int tag)
    : std::runtime_error(what),
      code_(code),
      error_class_(error_class),
      call_(std::move(call)),
      peer_(peer),
      tag_(tag) {}

}  // namespace dovetail::mpi

namespace dovetail::detail::mpi {
namespace {

using comm::mpi::Engine;
using comm::mpi::Library;
using comm::mpi::Operation;
using comm::mpi::Wait;

[[noreturn]] void fail(const Library& library, const Description& description, int code) {
  Operation failed;
  failed.description = description;
  failed.code = code;
  std::rethrow_exception(comm::mpi::failure_of(failed, library));
}

// The operations of requests that are not null, linked in their order. Dropped again if they are not handed over.
class Batch {
 public:
  Batch(Library& library, std::byte* requests, std::size_t count, std::byte* statuses) : library_(library) {
    Operation** last = &first_;
    try {
      for (std::size_t i = 0; i < count; ++i) {
        std::byte* const request = requests + i * library.request_size();
        std::byte* const status = statuses != nullptr ? statuses + i * library.status_size() : nullptr;
        if (library.is_null(request)) {
          library.set_empty(status);
          continue;
        }
        Operation* const made = comm::mpi::make_operation();
        *last = made;
        last = &made->next;
        ++size_;
        made->is_started = true;
        made->status = status;
        std::memcpy(made->request.data(), request, library.request_size());
      }
    } catch (...) {
      discard();
      throw;
    }
    for (std::size_t i = 0; i < count; ++i) {
      library.set_null(requests + i * library.request_size());
    }
  }
  std::size_t size() const noexcept { return size_; }
  template <class Set>
  void for_each(Set&& set) {
    for (Operation* operation = first_; operation != nullptr; operation = operation->next) {
      set(*operation);
    }
  }
  void hand_over(Engine& engine) noexcept { engine.submit(std::exchange(first_, nullptr), size_, library_); }

 private:
  void discard() noexcept {
    while (first_ != nullptr) {
      Operation* const next = first_->next;
      comm::mpi::drop(first_);
      first_ = next;
    }
  }
  Library& library_;
  Operation* first_ = nullptr;
  std::size_t size_ = 0;
};

// Pauses the task until the operation has ended. Returns MPI's code.
int pause_in_call(Abi abi, Operation& operation) {
  Library& library = comm::mpi::require_library(abi);
  Task* const task = tasking::current_task();
  Wait wait(task, 1);
  operation.wait = &wait;
  tasking::prepare_pause(task);
  Engine::of(task).submit(&operation, 1, library);
  tasking::pause(task, tasking::WaitReason::system_call);
  return operation.code;
}

// The one whose body or `onready` runs. @throws std::logic_error outside of both.
Task* task_that_binds(const char* call) {
  Task* const task = tasking::current_task() != nullptr ? tasking::current_task() : tasking::task_in_onready();
  if (task == nullptr) {
    throw std::logic_error(std::string(call) + " would be bound to a task, but was called outside of one");
  }
  return task;
}

// Null outside of a task.
Task* task_that_waits(const char* call) {
  if (tasking::task_in_onready() != nullptr) {
    throw std::logic_error(std::string(call) + " would wait in an onready; bind the message instead");
  }
  return tasking::current_task();
}

void pause(Wait& wait) {
  tasking::pause(wait.task, tasking::WaitReason::operation);
  if (wait.cause) {
    std::rethrow_exception(std::move(wait.cause));
  }
}

Description request_in_general() noexcept {
  Description made;
  made.call = "MPI_Wait";
  return made;
}

}  // namespace

bool in_task(Abi abi) noexcept {
  static constinit std::atomic<bool> is_refused{false};
  if (tasking::current_task() == nullptr || is_refused.load(std::memory_order_relaxed)) {
    return false;
  }
  try {
    comm::mpi::require_library(abi);
    return true;
  } catch (const std::exception& refused) {
    if (!is_refused.exchange(true)) {
      std::fprintf(stderr, "dovetail: calls of MPI in tasks hold their thread: %s\n", refused.what());
    }
    return false;
  }
}

int call(Abi abi, const Description& description, const Start& start, void* status) {
  Operation operation;
  operation.description = description;
  operation.start = start;
  operation.status = status;
  return pause_in_call(abi, operation);
}

int attempt(Abi abi, const Description& description, const Start& attempt) {
  Operation operation;
  operation.description = description;
  operation.start = attempt;
  operation.is_attempt = true;
  return pause_in_call(abi, operation);
}

void bind(Abi abi, void* requests, std::size_t count, void* statuses) {
  Library& library = comm::mpi::require_library(abi);
  Task* const task = task_that_binds("dovetail::mpi::iwait");
  Batch batch(library, static_cast<std::byte*>(requests), count, static_cast<std::byte*>(statuses));
  batch.for_each([task](Operation& operation) {
    operation.description = request_in_general();
    operation.task = task;
    tasking::bind_event();
  });
  batch.hand_over(Engine::of(task));
}

void wait(Abi abi, void* requests, std::size_t count, void* statuses) {
  Library& library = comm::mpi::require_library(abi);
  Task* const task = task_that_waits("dovetail::mpi::wait");
  if (task == nullptr) {
    if (const int code = library.wait(requests, count, statuses); code != 0) {
      fail(library, request_in_general(), code);
    }
    return;
  }
  Batch batch(library, static_cast<std::byte*>(requests), count, static_cast<std::byte*>(statuses));
  if (batch.size() == 0) {
    return;
  }
  Wait wait(task, batch.size());
  batch.for_each([&wait](Operation& operation) {
    operation.description = request_in_general();
    operation.wait = &wait;
  });
  tasking::prepare_pause(task);
  batch.hand_over(Engine::of(task));
  pause(wait);
}

void start_and_bind(Abi abi, const Description& description, const Start& start, void* status) {
  Library& library = comm::mpi::require_library(abi);
  Task* const task = task_that_binds(description.call);
  Operation* const operation = comm::mpi::make_operation();
  operation->description = description;
  operation->start = start;
  operation->status = status;
  operation->task = task;
  tasking::bind_event();
  Engine::of(task).submit_and_start(operation, library);
}

void start_and_wait(Abi abi, const Description& description, const Start& start, void* status) {
  Library& library = comm::mpi::require_library(abi);
  Task* const task = task_that_waits(description.call);
  Operation operation;
  operation.description = description;
  operation.status = status;
  if (task == nullptr) {
    int code = start.function(start.closure.data(), operation.request.data());
    code = code != 0 ? code : library.wait(operation.request.data(), 1, status);
    if (code != 0) {
      fail(library, description, code);
    }
    return;
  }
  Wait wait(task, 1);
  operation.start = start;
  operation.wait = &wait;
  tasking::prepare_pause(task);
  Engine::of(task).submit(&operation, 1, library);
  pause(wait);
}

}  // namespace dovetail::detail::mpi
