// One operation of MPI that tasks wait for, from the call that makes it until whoever waits has been told.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>

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
  std::exception_ptr cause;  ///< Of the first that failed; written by whoever set `failed`.
};

struct Operation {
  Operation* next = nullptr;  ///< In a list of the engine.
  Wait* wait = nullptr;       ///< Who is paused; null: `task` has bound an event to the operation.
  Task* task = nullptr;
  void* status = nullptr;  ///< Where MPI's status goes; null: nobody wants it.
  int code = 0;            ///< Of MPI, when it has ended.
  std::atomic<bool>* told_of_start =
      nullptr;  ///< Set when it has been started: its caller waits for that, and the operation may be gone.
  bool is_started = false;
  bool is_attempt = false;  ///< It has no request: `start` is called until it has ended.
  bool is_pooled = false;
  Description description;
  alignas(
      8) std::array<std::byte, 8> request{};  ///< Once it is started. Of an attempt: whether it has ended, a `bool`.
  Start start;                                ///< If it is not started.
};

/// From a pool. @throws std::bad_alloc
Operation* make_operation();
/// If it is from the pool; else does nothing.
void drop(Operation* operation) noexcept;

}  // namespace dovetail::comm::mpi
