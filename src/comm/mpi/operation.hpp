// One operation of MPI that tasks wait for, from the call that makes it until the task that waits has been told.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "dovetail/detail/mpi_calls.hpp"
#include "tasking/pause.hpp"

namespace dovetail::comm::mpi {

using detail::Task;
using detail::mpi::Communicator;
using detail::mpi::Description;
using detail::mpi::Start;

/// A task that is paused until several operations have ended. Lies on its stack.
struct Wait {
  explicit Wait(Task* waiting, std::size_t operations) noexcept : task(waiting), left(operations) {}
  Task* const task;
  std::atomic<std::size_t> left;
  std::atomic<bool> failed{false};
  std::exception_ptr cause;  ///< Of the first that failed; written by the thread that set `failed`.
};

/// A communicator as traces call it, alike in all processes. Lives for ever.
struct Channel {
  std::string name;
  std::vector<int> ranks;  ///< By rank in it: the rank in MPI_COMM_WORLD. Empty: that is the same.
};

struct Operation {
  Operation* next = nullptr;  ///< In a list of the engine.
  Wait* wait = nullptr;       ///< Of the paused task; null: `task` has bound an event to the operation.
  Task* task = nullptr;
  void* status = nullptr;  ///< Where MPI's status goes; null: nowhere.
  int code = 0;            ///< Of MPI, when it has ended.
  bool is_started = false;
  bool is_attempt = false;  ///< It has no request: `start` is called until it has ended.
  bool is_pooled = false;
  /// Its task names a device. When a receive has ended, `count` of its description is how many bytes have come.
  bool counts_bytes = false;
  std::exception_ptr cause;  ///< If it has failed: what MPI says of that.
  /// Set when it has been started: its caller waits for that. Null: it does not.
  std::atomic<bool>* told_of_start = nullptr;
  Task* starting = nullptr;  ///< Paused until it has been started; null: none.
  Description description;
  const Channel* channel = nullptr;  ///< Of a message that a trace has; null: of none.
  std::uint64_t message = 0;         ///< Its number there if the program itself has started it; 0: it has not.
  int source = -1;                   ///< When it has ended: MPI's status of what has been received.
  int received_tag = -1;
  alignas(
      8) std::array<std::byte, 8> request{};  ///< Once it is started. Of an attempt: whether it has ended, a `bool`.
  Start start;                                ///< If it is not started.
};

/// Moves all operations of `more`, which are linked by `next`, one after the other to the front of `list`. The last one is the first then.
/// @returns The new front.
inline Operation* move_to_front(Operation* list, Operation* more) noexcept {
  while (more != nullptr) {
    Operation* const next = more->next;
    more->next = list;
    list = more;
    more = next;
  }
  return list;
}

/// From a pool. @throws std::bad_alloc
Operation* make_operation();
/// If it is from the pool; else does nothing.
void drop(Operation* operation) noexcept;

}  // namespace dovetail::comm::mpi
