// One call of the C interface, from the task that made it to its result.
#pragma once

#include <dovetail_omp.h>
#include <sys/uio.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>

#include "dovetail/detail/mpi_calls.hpp"
#include "dovetail/file.hpp"

namespace dovetail::omp {

enum class Kind : std::uint8_t { pread, pwrite, preadv, pwritev, fsync, fdatasync, pwrite_fdatasync, messages };

/// Name of the call, in errors.
const char* name_of(Kind kind) noexcept;

/// What became of it.
struct CallResult {
  std::uint64_t bytes = 0;
  int error = 0;                    ///< errno, or 0.
  std::int64_t offset = -1;         ///< With an error: the first byte that was not transferred,
  std::uint64_t left = 0;           ///< how many there are from it,
  const char* operation = nullptr;  ///< and what failed, if not the call as a whole.
};

/// Belongs to its task and lives as long.
struct Call {
  Call* next = nullptr;  ///< In the list that it is gathered in, and in the queue of the hidden runtime.
  dovetail_omp_task* task = nullptr;
  File file;
  Kind kind = Kind::pread;
  int descriptor = -1;
  std::byte* data = nullptr;  ///< Of a write, only read.
  std::uint64_t size = 0;     ///< Bytes in all.
  std::int64_t offset = 0;
  std::unique_ptr<iovec[]> vectors;
  int vector_count = 0;
  ssize_t* result = nullptr;
  /// @name Of messages
  /// @{
  detail::mpi::Abi abi{};
  std::unique_ptr<std::byte[]> handles;  ///< `size` of them.
  void* statuses = nullptr;
  std::exception_ptr failure;  ///< Whose text the outcome refers to.
  /// @}
};

/// Transfers at once what is known to need no device: data in memory, or nothing at all. Returns false if the call has to be
/// performed.
bool perform_now(Call& call, bool in_memory, CallResult& outcome) noexcept;
/// Performs it. In a task of the hidden runtime: may suspend. Elsewhere it blocks.
CallResult perform(Call& call) noexcept;
/// Delivers the result to where it is wanted.
void deliver(Call& call, const CallResult& outcome) noexcept;

}  // namespace dovetail::omp

/// In the global namespace, where the C header has declared it.
struct dovetail_omp_task {
  explicit dovetail_omp_task(std::uintptr_t detached) noexcept : event(detached) {}

  static constexpr std::uint32_t body_waits = std::uint32_t{1} << 31;
  static constexpr std::uint32_t body_arms = std::uint32_t{1} << 30;  ///< See libgomp.hpp.
  static constexpr std::uint32_t counted = body_arms - 1;
  static constexpr unsigned most_in_place = 4;

  /// The number of outstanding requests, and the two flags. The thread that takes it to zero fulfils the event: the release of each
  /// decrement pairs with the acquire of that last one.
  std::atomic<std::uint32_t> left{1};
  unsigned used = 0;  ///< Of `in_place`.
  const std::uintptr_t event;
  std::atomic<std::uintptr_t> alarm{0};  ///< See libgomp.hpp.
  int* status = nullptr;
  dovetail::omp::Call* first = nullptr;  ///< Gathered, oldest first.
  dovetail::omp::Call* last = nullptr;
  struct Further {
    std::unique_ptr<Further> next;
    dovetail::omp::Call call;
  };
  std::unique_ptr<Further> further;
  dovetail::omp::Call in_place[most_in_place];
};

namespace dovetail::omp {

/// A new call of the task. Never null.
Call& add_call(dovetail_omp_task& task);
/// Counts the call and keeps it until `submit`.
void gather(dovetail_omp_task& task, Call& call) noexcept;
/// Hands over what has been gathered.
void submit(dovetail_omp_task& task) noexcept;
/// Takes `count` off what is outstanding. The last one destroys the task and fulfils its event.
void release(dovetail_omp_task& task, std::uint32_t count) noexcept;

/// Ends the program: the caller has no way to go on.
[[noreturn]] void stop_program(const char* function, const char* what) noexcept;

}  // namespace dovetail::omp
