// What the messages of tasks need of an MPI library. Implemented once for each application binary interface (interpose/mpi), since handles
// and statuses differ; and by a library of the tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "comm/mpi/operation.hpp"

namespace dovetail::comm::mpi {

/// From which threads the program may call the library (`MPI_Query_thread`).
enum class Level : std::uint8_t { single, funneled, serialized, multiple };

/// Thread-safe as far as said. A code is one of MPI's; 0 is `MPI_SUCCESS`.
class Library {
 public:
  virtual ~Library() = default;

  /// @name Facts. Any thread.
  /// @{
  virtual std::size_t request_size() const noexcept = 0;  ///< Bytes of an `MPI_Request`, at most 8.
  virtual std::size_t status_size() const noexcept = 0;   ///< Bytes of an `MPI_Status`.
  /// @throws std::logic_error before `MPI_Init` and after `MPI_Finalize`.
  virtual Level level() const = 0;
  /// Whether the calling thread is the one that has initialised it.
  virtual bool is_main_thread() const noexcept = 0;
  virtual bool is_null(const void* request) const noexcept = 0;
  virtual void set_null(void* request) const noexcept = 0;
  /// Writes the request that Fortran knows by this number.
  virtual void from_fortran(std::int32_t number, void* request) const noexcept = 0;
  virtual Communicator communicator_from_fortran(std::int32_t number) const noexcept = 0;
  /// Partitioned requests came with MPI 4.
  virtual bool has_partitions() const noexcept = 0;
  /// As MPI does for a request that is null; `status` may be null.
  virtual void set_empty(void* status) const noexcept = 0;
  /// What the library itself says of an error.
  virtual std::string text_of(int code) const = 0;
  virtual int class_of(int code) const noexcept = 0;
  /// "MPI_COMM_WORLD", say; empty if it has no name that is safe to ask for.
  virtual std::string name_of(const Communicator& communicator) const = 0;
  /// @}

  /// @name For tasks, by the thread that has the turn
  /// @{
  /// From now on until `leave`, errors of calls by this thread are returned. They are a task's, and do not end the program. From the second time
  /// on, any thread.
  virtual void enter() noexcept = 0;
  virtual void leave() noexcept = 0;
  /// The same holds for operations on this communicator.
  virtual void expect_errors(const Communicator& communicator) noexcept = 0;
  /// The same for operations on this window.
  virtual void expect_errors_of_window(const Communicator& /*window*/) noexcept {}
  /// What a trace calls the communicator, which is still there. Null: messages in it cannot be told from others', as between two groups.
  virtual const Channel* channel_of(const Communicator& /*communicator*/) noexcept { return nullptr; }
  /// Of a message whose description has a size.
  virtual std::uint64_t bytes_of(const Description& /*description*/) const noexcept { return 0; }
  /// Looks which requests have ended. Their numbers among `requests` are written to `ended`; each one's code, source and tag to its operation,
  /// and its status where that operation wants it. The array of requests lies as MPI wants it; `operations` are theirs. Never blocks. One thread at
  /// a time. @returns How many have ended.
  virtual std::size_t test(void* requests, std::span<Operation* const> operations, unsigned* ended) noexcept = 0;
  /// Starts a persistent request. @returns The code.
  virtual int start(const void* request) noexcept = 0;
  /// Where it has partitions: whether one has arrived. @returns MPI's code.
  virtual int test_partition(const void* request, int partition, bool& has_arrived) noexcept = 0;
  /// Looks whether one request has ended, failed or not, and leaves it as it is. Never blocks.
  virtual bool has_ended(const void* request) noexcept = 0;
  /// Whether a rank has died, so that a request may have failed of which `has_ended` never says so. Never blocks.
  virtual bool knows_of_death() noexcept { return false; }
  /// @}
  /// The same for one thread that is no task's and waits for them all. Blocks the thread. @returns The code.
  virtual int wait(void* requests, std::size_t count, void* statuses) noexcept = 0;
};

/// Makes a library known: in a test, or by what has loaded it. It lives for ever.
void set_library(Library* library) noexcept;
/// Null if there is none yet.
Library* find_library() noexcept;

}  // namespace dovetail::comm::mpi
