// What the inline functions of <dovetail/mpi.hpp> call.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "comm/mpi/begun_requests.hpp"
#include "comm/mpi/delivery.hpp"
#include "comm/mpi/engine.hpp"
#include "comm/mpi/library.hpp"
#include "comm/mpi/loader.hpp"
#include "comm/mpi/recorded.hpp"
#include "comm/mpi/turn.hpp"
#include "dovetail/mpi_error.hpp"
#include "tasking/gate.hpp"

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
using comm::mpi::record_begin;
using comm::mpi::Turn;
using comm::mpi::Wait;

constexpr std::chrono::milliseconds longest_before_the_caller_asks{1};
// Of a request that the program has started, by a call that was not noted.
constexpr const char* request_in_general = "MPI_Wait";

class InCall {
 public:
  explicit InCall(Library& library) noexcept : library_(library) { library_.enter(); }
  ~InCall() { library_.leave(); }
  InCall(const InCall&) = delete;
  InCall& operator=(const InCall&) = delete;

 private:
  Library& library_;
};

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
        made->description = describe_request(request, library.request_size(), request_in_general);
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

// Pauses the task until the operation, which may refer to its stack, has ended. Returns what MPI says if it has failed.
std::exception_ptr pause_for(Task* task, Operation& operation, Library& library, tasking::WaitReason reason) {
  Wait wait(task, 1);
  operation.wait = &wait;
  operation.counts_bytes = tasking::ticket_of(task) != nullptr;
  record_begin(operation);
  tasking::prepare_pause(task);
  Engine::of(task).submit(&operation, 1, library);
  tasking::pause(task, reason);
  return std::move(wait.cause);
}

void wait_for(Task* task, Operation& operation, Library& library) {
  if (auto cause = pause_for(task, operation, library, tasking::WaitReason::operation)) {
    std::rethrow_exception(std::move(cause));
  }
}

// Returns MPI's code.
int wait_in_call(Abi abi, Operation& operation) {
  pause_for(tasking::current_task(), operation, comm::mpi::require_library(abi), tasking::WaitReason::system_call);
  return operation.code;
}

// Binds the task to an operation that is not handed over yet.
Operation* bind_operation(Task* task, const Description& description, const Start& start) {
  Operation* const operation = comm::mpi::make_operation();
  operation->description = description;
  operation->start = start;
  operation->task = task;
  operation->counts_bytes = tasking::ticket_of(task) != nullptr;
  tasking::bind_event();
  record_begin(*operation);
  return operation;
}

// The one whose body or `onready` runs. @throws std::logic_error outside of both.
Task* task_that_binds(const char* call) {
  Task* const task = tasking::task_that_binds();
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

void wait_for_attempt(Task* task, Library& library, const Description& description, const Start& attempt) {
  Operation operation;
  operation.description = description;
  operation.start = attempt;
  operation.is_attempt = true;
  wait_for(task, operation, library);
}

// Suspends the current task until `is_over(library)` holds; after a death for a moment, since the caller would else ask MPI without a pause.
template <class IsOver>
void wait_until(const void* const* requests, std::size_t count, const IsOver& is_over) {
  Library& library = comm::mpi::require_library(Abi::of_process);
  Task* const task = task_that_waits(request_in_general);
  if (task == nullptr) {
    throw std::logic_error("a task would wait for MPI here, but there is none");
  }
  const base::TimePoint until = base::Clock::now() + longest_before_the_caller_asks;
  const auto look = [&library, &is_over, until](void* ended) {
    *static_cast<bool*>(ended) = is_over(library) || (library.knows_of_death() && base::Clock::now() >= until);
    return 0;
  };
  Description waits = Description::of(request_in_general);
  waits.awaited = {requests, static_cast<std::uint32_t>(count), Awaited::Kind::addresses};
  wait_for_attempt(task, library, waits, Start::of(look));
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

void require_every_thread(Abi abi) {
  comm::mpi::require_library(abi);
  if (comm::mpi::is_for_one_thread()) {
    throw std::logic_error(
        "MPI was initialised for calls of one thread only: initialise it by MPI_Init_thread with MPI_THREAD_MULTIPLE, "
        "or MPI_THREAD_SERIALIZED if the program itself calls MPI only while no task does");
  }
}

int call(Abi abi, const Description& description, const Start& start, void* status) {
  Operation operation;
  operation.description = description;
  operation.start = start;
  operation.status = status;
  return wait_in_call(abi, operation);
}

int attempt(Abi abi, const Description& description, const Start& attempt) {
  Operation operation;
  operation.description = description;
  operation.start = attempt;
  operation.is_attempt = true;
  return wait_in_call(abi, operation);
}

void bind(Abi abi, void* requests, std::size_t count, void* statuses) {
  Library& library = comm::mpi::require_library(abi);
  Task* const task = task_that_binds("dovetail::mpi::iwait");
  Batch batch(library, static_cast<std::byte*>(requests), count, static_cast<std::byte*>(statuses));
  batch.for_each([task](Operation& operation) {
    operation.task = task;
    tasking::bind_event();
    record_begin(operation);
  });
  batch.hand_over(Engine::of(task));
}

void wait(Abi abi, void* requests, std::size_t count, void* statuses) {
  Library& library = comm::mpi::require_library(abi);
  Task* const task = task_that_waits("dovetail::mpi::wait");
  if (task == nullptr) {
    if (const int code = library.wait(requests, count, statuses); code != 0) {
      fail(library, Description::of(request_in_general), code);
    }
    return;
  }
  Batch batch(library, static_cast<std::byte*>(requests), count, static_cast<std::byte*>(statuses));
  if (batch.size() == 0) {
    return;
  }
  Wait wait(task, batch.size());
  batch.for_each([&wait](Operation& operation) {
    operation.wait = &wait;
    record_begin(operation);
  });
  tasking::prepare_pause(task);
  batch.hand_over(Engine::of(task));
  tasking::pause(task, tasking::WaitReason::operation);
  if (wait.cause) {
    std::rethrow_exception(std::move(wait.cause));
  }
}

void start_and_bind(Abi abi, const Description& description, const Start& start, void* status) {
  Library& library = comm::mpi::require_library(abi);
  Task* const task = task_that_binds(description.call);
  Operation* const operation = bind_operation(task, description, start);
  operation->status = status;
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
  operation.start = start;
  wait_for(task, operation, library);
}

void attempt_and_bind(Abi abi, const Description& description, const Start& attempt) {
  Library& library = comm::mpi::require_library(abi);
  Task* const task = task_that_binds(description.call);
  Operation* const operation = bind_operation(task, description, attempt);
  operation->is_attempt = true;
  Engine::of(task).submit(operation, 1, library);
}

void attempt_and_wait(Abi abi, const Description& description, const Start& attempt, const Start& blocking) {
  Library& library = comm::mpi::require_library(abi);
  Task* const task = task_that_waits(description.call);
  if (task == nullptr) {
    if (const int code = blocking.function(blocking.closure.data(), nullptr); code != 0) {
      fail(library, description, code);
    }
    return;
  }
  wait_for_attempt(task, library, description, attempt);
}

void note_begun(const BegunCall& call, std::uint64_t handle, Communicator communicator, int peer, int tag) noexcept {
  const std::uint64_t forgotten = comm::mpi::BegunRequests::of_process().add(handle, &call, communicator, peer, tag);
  if (forgotten != 0) [[unlikely]] {
    trace::message_ended(forgotten);
  }
}

Description describe_request(const void* request, std::size_t size, const char* otherwise) noexcept {
  Description made = Description::of(otherwise);
  std::uint64_t handle = 0;
  std::memcpy(&handle, request, size);
  if (const auto begun = comm::mpi::BegunRequests::of_process().find(handle)) {
    made.call = begun->call->name;
    made.receives = begun->call->receives;
    made.has_communicator = begun->call->has_communicator;
    made.communicator = begun->communicator;
    made.may_be_freed = true;
    made.peer = begun->peer;
    made.tag = begun->tag;
  }
  return made;
}

std::string text_of(const Description& description) {
  Operation operation;
  operation.description = description;
  return comm::mpi::text_of(operation, comm::mpi::require_library(Abi::of_process));
}

bool is_recorded(Abi abi) noexcept {
  if (!trace::enabled() || tasking::task_that_binds() == nullptr) [[likely]] {
    return false;
  }
  try {
    comm::mpi::require_library(abi);
    return !comm::mpi::is_for_one_thread();
  } catch (const std::exception&) {
    return false;
  }
}

// In the turn, as all messages of tasks: only so it is known in which order MPI gets them.
int start_recorded(Abi abi, const BegunCall& call, const Description& description, const Start& start, void* request) {
  Library& library = comm::mpi::require_library(abi);
  while (!Turn::try_enter()) {
    std::this_thread::yield();
  }
  int code = 0;
  {
    const Turn::Leaving leaving;
    // An error handler of the program may call MPI: such a call is MPI's own then, and needs no turn.
    const InCall in_call(library);
    code = comm::mpi::recorded::start_for_program(call, description, start, request, library);
  }
  Engine::of(tasking::task_that_binds()).serve(library);
  return code;
}

void note_end(const void* request, const Found& found) noexcept {
  if (const Library* const library = comm::mpi::find_library()) {
    comm::mpi::recorded::end_for_program(request, *library, found);
  }
}

std::size_t request_size() { return comm::mpi::require_library(Abi::of_process).request_size(); }
std::size_t status_size() { return comm::mpi::require_library(Abi::of_process).status_size(); }

bool wait_until_ended(const void* const* requests, std::size_t count) {
  std::size_t ended = 0;
  wait_until(requests, count, [&](Library& library) {
    while (ended < count && library.has_ended(requests[ended])) {
      ++ended;
    }
    return ended == count;
  });
  return ended == count;
}

std::size_t wait_until_one_ended(const void* const* requests, std::size_t count) {
  std::size_t place = count;
  wait_until(requests, count, [&](Library& library) {
    const auto* const found =
        std::find_if(requests, requests + count, [&](const void* request) { return library.has_ended(request); });
    place = static_cast<std::size_t>(found - requests);
    return place < count;
  });
  return place;
}

std::vector<std::byte> requests_from_fortran(const std::int32_t* numbers, std::size_t count) {
  const Library& library = comm::mpi::require_library(Abi::of_process);
  std::vector<std::byte> requests(count * library.request_size());
  for (std::size_t i = 0; i < count; ++i) {
    library.from_fortran(numbers[i], requests.data() + i * library.request_size());
  }
  return requests;
}

void request_from_fortran(std::int32_t number, void* request) {
  comm::mpi::require_library(Abi::of_process).from_fortran(number, request);
}

Communicator communicator_from_fortran(std::int32_t number) {
  return comm::mpi::require_library(Abi::of_process).communicator_from_fortran(number);
}

void bind_partition(const void* request, int partition) {
  Library* const library = &comm::mpi::require_library(Abi::of_process);
  if (!library->has_partitions()) {
    throw std::logic_error("This MPI library has no MPI_Parrived: partitioned requests came with MPI 4");
  }
  std::array<std::byte, sizeof(Operation::request)> handle{};
  std::memcpy(handle.data(), request, library->request_size());
  const auto look = [library, handle, partition](void* has_arrived) {
    return library->test_partition(handle.data(), partition, *static_cast<bool*>(has_arrived));
  };
  attempt_and_bind(Abi::of_process, Description::of("MPI_Parrived"), Start::of(look));
}

void start_and_bind(const void* request, void* status) {
  Library* const library = &comm::mpi::require_library(Abi::of_process);
  std::array<std::byte, sizeof(Operation::request)> handle{};
  std::memcpy(handle.data(), request, library->request_size());
  const auto start = [library, handle](void* started) {
    std::memcpy(started, handle.data(), handle.size());
    return library->start(started);
  };
  start_and_bind(Abi::of_process, describe_request(request, library->request_size(), "MPI_Start"), Start::of(start),
                 status);
}

void fail(Abi abi, const Description& description, int code) {
  fail(comm::mpi::require_library(abi), description, code);
}

}  // namespace dovetail::detail::mpi
