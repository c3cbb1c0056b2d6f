// Tasks and threads that wait for the same thing, served by arrival. The lock of a line is a member of a public type
// (dovetail/synchronization.hpp). It is a std::mutex, which the check of locks does not know, since public headers include none of ours.
#pragma once

#include <cstdint>
#include <mutex>

#include "dovetail/synchronization.hpp"
#include "tasking/selection.hpp"
#include "tasking/task.hpp"

namespace dovetail {
namespace detail {

/// Lies on the stack of the waiter: of a task that waits for nothing else, or of a selection.
struct Waiting {
  Waiting* before = nullptr;
  Waiting* next = nullptr;
  bool in_line = false;
  Task* task = nullptr;  ///< Null: a thread, which has a selection.
  std::uint64_t units = 0;
  tasking::Selection* selection = nullptr;
  int number = 0;  ///< Of this line among what the selection waits for.
};

}  // namespace detail

namespace tasking {

using detail::Waiting;
using detail::WaitingLine;

void append(WaitingLine& line, Waiting& waiting) noexcept;
/// Nothing if it is in the line no more.
void take_out(WaitingLine& line, Waiting& waiting) noexcept;

/// Waits at the end of the line until `serve_first` is called for it. `lock` holds the mutex of the line, and does not any more at the end.
/// @throws Stuck; then it has left the line.
void wait_in_line(WaitingLine& line, std::unique_lock<std::mutex>& lock, std::uint64_t units, WaitReason reason);

/// Those that were served and are to be woken without the mutex.
class Served {
 public:
  /// Under the mutex of the line, which is not empty. False if the first has given up; then it is out of the line, too.
  bool serve_first(WaitingLine& line) noexcept;
  /// Without it. Called once at most.
  void wake() noexcept;

 private:
  // By `Waiting::next`. Each stays until its task is woken.
  Waiting* first_ = nullptr;
  Waiting* last_ = nullptr;
};

/// Ends the wait of a task in a line, if it is in one and no other thread has ended it. The caller wakes the task. From any thread.
bool leave_line(Task* task) noexcept;

}  // namespace tasking
}  // namespace dovetail
