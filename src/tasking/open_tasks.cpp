#include "tasking/open_tasks.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>

#include "dovetail/options.hpp"
#include "tasking/gate.hpp"
#include "tasking/settings.hpp"

namespace dovetail::tasking {
namespace {

// Calls that wait for another thread or the time, though their first argument may equal the number of an open file. Either the argument is no
// descriptor, or the call waits for a lock of the file or for the other end of a pipe.
constexpr long waiting_calls[] = {SYS_clock_nanosleep, SYS_select, SYS_pselect6, SYS_wait4, SYS_waitid, SYS_semop,
                                  SYS_semtimedop,      SYS_msgsnd, SYS_msgrcv,   SYS_flock, SYS_fcntl,  SYS_splice};

bool is_a_file(int descriptor) noexcept {
  struct statx status{};
  // What is known here is enough: a server that does not answer must not stop the thread that keeps time.
  return statx(descriptor, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &status) == 0 &&
         (S_ISREG(status.stx_mode) || S_ISBLK(status.stx_mode));
}

}  // namespace

bool is_open(const Task* task) noexcept {
  const Ticket* const ticket = ticket_of(task);
  return ticket == nullptr || !ticket->is_limited();
}

bool keeps_its_place(const Task* task) noexcept {
  const auto reason = std::atomic_ref<WaitReason>(const_cast<Task*>(task)->wait_reason).load(std::memory_order_relaxed);
  return reason == WaitReason::time;
}

// The kernel tells the number of the call and its arguments; -1 of a thread that waits for a page of its memory.
Activity activity_of(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/syscall");
  std::string call;
  unsigned long first = ~0UL;
  file >> call >> std::hex >> first;
  if (call == "running") {
    return Activity::computes;
  }
  const long number = std::strtol(call.c_str(), nullptr, 10);
  const bool has_descriptor =
      first <= 0x7fffffff && std::ranges::find(waiting_calls, number) == std::end(waiting_calls);
  return number == -1 || (has_descriptor && is_a_file(static_cast<int>(first))) ? Activity::uses_a_file
                                                                                : Activity::waits;
}

Activity activity_of(const Task* task, pid_t thread) {
  if (task->state.load(std::memory_order_relaxed) != TaskState::paused) {
    return activity_of(thread);
  }
  return keeps_its_place(task) ? Activity::computes : Activity::waits;
}

unsigned places_to_begin_with(const Options& options) noexcept {
  return options.io_executors != default_executors ? options.io_executors : std::max(4U, 2 * options.workers);
}

}  // namespace dovetail::tasking
