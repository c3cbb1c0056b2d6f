/// @file
/// What the inline functions of <dovetail/mpi.hpp> hand to the library, which knows no MPI: handles are a few bytes. Not part of the public
/// contract.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

namespace dovetail::detail::mpi {

/// For which binary interface the caller was compiled.
enum class Abi : std::uint8_t { mpich = 1, openmpi = 2 };

/// A handle as it lies in memory.
struct Communicator {
  alignas(8) std::array<std::byte, 8> handle{};
};

/// @name Values of `Description::peer` and `tag` that are no numbers of a rank or a tag
/// @{
inline constexpr int no_peer = -1;
inline constexpr int any_source = -2;
inline constexpr int no_tag = -1;
inline constexpr int any_tag = -2;
/// @}

/// What an operation is, for errors and reports.
struct Description {
  const char* call = "";  ///< Lives as long as the process.
  int peer = no_peer;
  int tag = no_tag;
  bool receives = false;
  bool has_communicator = false;
  Communicator communicator;
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
/// Whether the caller is in a task that can pause. If MPI allows calls of one thread only, that is said once, and none can.
bool in_task(Abi abi) noexcept;
/// Starts the operation and pauses the task until it has ended.
int call(Abi abi, const Description& description, const Start& start, void* status);
/// Pauses the task until the operation, which has no request, has ended: `attempt` is called again and again, by whichever thread is in MPI,
/// with the address of a `bool` that it sets when that is so.
int attempt(Abi abi, const Description& description, const Start& attempt);
/// @}

/// @name Operations that are started by this call, or a moment later by another thread
/// @{
void start_and_bind(Abi abi, const Description& description, const Start& start, void* status);
void start_and_wait(Abi abi, const Description& description, const Start& start, void* status);
/// @}

}  // namespace dovetail::detail::mpi
