/// @file
/// What the inline functions of <dovetail/mpi.hpp> hand to the library, which knows no MPI: handles are a few bytes. Not part of the public
/// contract.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace dovetail::detail::mpi {

/// For which binary interface the caller was compiled. `of_process`: for none; its handles are those of the library that the process has.
enum class Abi : std::uint8_t { of_process = 0, mpich = 1, openmpi = 2 };

/// A handle as it lies in memory.
struct Communicator {
  alignas(8) std::array<std::byte, 8> handle{};
};

/// A datatype as it lies in memory.
struct Datatype {
  alignas(8) std::array<std::byte, 8> handle{};
};

/// @name Values of `Description::peer` and `tag` that are no numbers of a rank or a tag
/// @{
inline constexpr int no_peer = -1;
inline constexpr int any_source = -2;
inline constexpr int no_tag = -1;
inline constexpr int any_tag = -2;
/// @}

/// Which message a call has received.
struct Found {
  int source = no_peer;
  int tag = no_tag;
};

/// A call that gives the program a request. Lives as long as the process.
struct BegunCall {
  const char* name;
  bool receives;
  bool has_communicator;
};

/// Requests of the program that a call waits for.
struct Awaited {
  enum class Kind : std::uint8_t { in_c, in_fortran, addresses };
  const void* first = nullptr;  ///< Requests as C or Fortran has them, or addresses of those of C.
  std::uint32_t count = 0;
  Kind kind = Kind::in_c;
};

/// What an operation is, for errors, reports, traces and the device of a task.
struct Description {
  const char* call = "";  ///< Lives as long as the process.
  int peer = no_peer;
  int tag = no_tag;
  Communicator communicator;  ///< Or the window.
  /// Of a call that receives and sends at once, as `exchanges` says: what it sends.
  int sent_to = no_peer;
  int sent_tag = no_tag;
  /// Of a call without a request: what it writes this to, as long as it is under way. Null: it does not.
  const Found* found = nullptr;
  /// Of a call that waits for requests of the program: these, as long as it is under way.
  Awaited awaited;
  std::int64_t count = 0;
  Datatype type;
  bool receives = false;
  bool has_communicator = false;
  bool may_be_freed = false;  ///< The communicator, since its request outlives it: the handle is for its name only.
  bool has_window = false;    ///< In place of a communicator.
  bool exchanges = false;     ///< It receives and sends at once.
  bool has_size = false;      ///< `count` and `type` are of what it sends.

  static Description of(const char* call) noexcept {
    Description made;
    made.call = call;
    return made;
  }
};

/// A call that starts an operation: it is made by whichever thread is in MPI.
struct Start {
  static constexpr std::size_t capacity = 72;
  int (*function)(const void* closure, void* request) = nullptr;  ///< Returns MPI's code.
  alignas(8) std::array<std::byte, capacity> closure;

  Start() noexcept {}  // the closure is written by `of`
  /// `call` takes the address of an `MPI_Request` as `void*` and is copied as bytes.
  template <class Call>
  static Start of(const Call& call) noexcept {
    static_assert(sizeof(Call) <= capacity && std::is_trivially_copyable_v<Call> && alignof(Call) <= 8);
    Start made;
    made.function = [](const void* closure, void* request) { return (*static_cast<const Call*>(closure))(request); };
    new (made.closure.data()) Call(call);
    return made;
  }
  /// For other languages: `arguments` are copied, and `function` gets the copy. @throws std::invalid_argument if they are too many
  static Start of(int (*function)(const void* arguments, void* request), const void* arguments, std::size_t size) {
    if (size > capacity) {
      throw std::invalid_argument("more arguments than an operation takes");
    }
    Start made;
    made.function = function;
    std::memcpy(made.closure.data(), arguments, size);
    return made;
  }
};

/// @name Requests that have been started; they become `MPI_REQUEST_NULL`. `statuses`: an array of `MPI_Status`, or null.
/// @{
/// The current task is bound to their ends. The statuses live until it has completed. @throws std::logic_error outside of a task.
void bind(Abi abi, void* requests, std::size_t count, void* statuses);
/// Suspends the current task; outside of a task it blocks the thread. @throws dovetail::mpi::Error
void wait(Abi abi, void* requests, std::size_t count, void* statuses);
/// @}

/// @name For calls that do not know of tasks. They return MPI's code, and the task goes on in the same thread.
/// @{
/// Whether the caller is in a task that can pause. If the library cannot be used, that is said once, and none can.
bool in_task(Abi abi) noexcept;
/// Starts the operation and pauses the task until it has ended.
int call(Abi abi, const Description& description, const Start& start, void* status);
/// Pauses the task until an operation without a request has ended. Whichever thread is in MPI calls `attempt` again and again, with the address of
/// a `bool`. `attempt` sets it when the operation has ended.
int attempt(Abi abi, const Description& description, const Start& attempt);
/// Makes a call that may block and has no other form, and returns what it returned. A thread for blocking work makes it while the task is paused.
/// Where MPI allows calls of one thread at a time, the thread that may call is held instead, and others in MPI wait; that is said once. `call` gets
/// no request.
int held(Abi abi, const Description& description, const Start& call);
/// For callers whose program waits elsewhere than in a runtime, so that no thread of its own can call MPI for tasks. @throws std::logic_error where
/// MPI allows calls of one thread only; else as `call`.
void require_every_thread(Abi abi);
/// For the end of MPI, outside of tasks. Returns when no operation of a task is in flight and the tasks that had one have completed. Tasks that use
/// MPI later hold their thread, which is said. False: the wait ended for another reason.
bool end_operations() noexcept;
/// @}

/// @name Operations that are started by this call, or a moment later by another thread
/// @{
void start_and_bind(Abi abi, const Description& description, const Start& start, void* status);
void start_and_wait(Abi abi, const Description& description, const Start& start, void* status);
/// @}

/// @name Operations that have no request, or whose request stays the program's
/// `attempt` is called as above.
/// @{
void attempt_and_bind(Abi abi, const Description& description, const Start& attempt);
/// `blocking` is called instead outside of a task, with a null pointer.
void attempt_and_wait(Abi abi, const Description& description, const Start& attempt, const Start& blocking);
/// @}

/// @name Requests that a program starts by itself: what they are, for errors and reports. Any thread.
/// @{
/// `call` has given the program the request of this handle, as it lies in memory. `communicator` counts if the call has one, `peer` and `tag` as in
/// `Description`.
void note_begun(const BegunCall& call, std::uint64_t handle, Communicator communicator, int peer, int tag) noexcept;
/// What the request was begun by, as far as that was noted; else it is `otherwise`, which lives as long as the process.
Description describe_request(const void* request, std::size_t size, const char* otherwise) noexcept;
/// "MPI_Irecv from rank 1 with tag 3 in MPI_COMM_WORLD". For the library that the process has.
std::string text_of(const Description& description);
/// @}

/// @name For traces: requests that a program starts by itself, in a task or its onready
/// @{
/// Whether a trace has the messages of the caller.
bool is_recorded(Abi abi) noexcept;
/// Makes the call that starts a message, and notes which one. `start` writes the request to `request`. @returns MPI's code.
int start_recorded(Abi abi, const BegunCall& call, const Description& description, const Start& start, void* request);
/// MPI has told the program that the message has ended. `request` is what it was before; one that no trace knows is ignored.
void note_end(const void* request, const Found& found) noexcept;
/// @}

/// @name For languages whose bindings keep requests of their own
/// They are those of the library that the process has.
/// @{
/// Bytes of one, and of a status.
std::size_t request_size();
std::size_t status_size();
/// Suspends the current task until all have ended, failed or not. They stay as they are, for a call of MPI that then returns at once.
/// @returns Whether they have. Where a rank has died, and MPI says only in a call that ends a request that it has failed: false, after a moment.
/// @throws std::logic_error outside of a task.
bool wait_until_ended(const void* const* requests, std::size_t count);
/// The same until one of them has. @returns Its place, which may be that of a persistent request that is not active; `count` in place of false.
std::size_t wait_until_one_ended(const void* const* requests, std::size_t count);
/// Those that Fortran knows by these numbers, one behind the other.
std::vector<std::byte> requests_from_fortran(const std::int32_t* numbers, std::size_t count);
/// What Fortran knows by this number. `request`: room for one.
void request_from_fortran(std::int32_t number, void* request);
Communicator communicator_from_fortran(std::int32_t number);
/// Starts a persistent request and binds its end to the current task. @throws std::logic_error outside of a task.
void start_and_bind(const void* request, void* status = nullptr);
/// Binds the arrival of a partition to the current task. @throws std::logic_error outside of a task, and where the library has no partitions
void bind_partition(const void* request, int partition);
/// @}

/// @throws dovetail::mpi::Error of `code`, always.
[[noreturn]] void fail(Abi abi, const Description& description, int code);

}  // namespace dovetail::detail::mpi
