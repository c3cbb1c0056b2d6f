// What waits for something to arrive, or to be done at another rank, from the call that makes it until its task has been told.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <string>

#include "tasking/pause.hpp"

namespace dovetail::comm::rma {

using detail::Task;

class Engine;

struct Waiter {
  /// What happens when it has ended.
  enum class Then : std::uint8_t {
    fulfil,  ///< `task` has bound an event to it; the waiter is freed.
    wake,    ///< `task` is paused. The waiter lies on its stack.
    tell,    ///< A thread outside of tasks looks at `has_ended`. The waiter lies on its stack.
    forget,  ///< No task and no thread is notified of the end. The engine frees the waiter.
  };

  Waiter() = default;
  virtual ~Waiter() = default;
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  /// What it waits for, as the beginning of a sentence.
  virtual std::string text() const = 0;

  Waiter* next = nullptr;    ///< In a queue.
  Task* task = nullptr;      ///< Null: a thread waits.
  Engine* engine = nullptr;  ///< Of the task's runtime.
  Then then = Then::tell;
  std::exception_ptr cause;  ///< If it has failed.
  std::atomic<bool> has_ended{false};
};

}  // namespace dovetail::comm::rma
