#include "tasking/open_tasks.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>

#include "tasking/core.hpp"
#include "tasking/gate.hpp"
#include "tasking/settings.hpp"

namespace dovetail::tasking {
namespace {

// Looks that must have been quiet, by what the busiest of those does that have a place: waits, computes, uses a file.
constexpr unsigned looks_needed[] = {1, 50, 500};
// Of the calls that wait, those whose first argument is a small number and no descriptor.
constexpr long without_descriptor[] = {SYS_clock_nanosleep, SYS_select, SYS_pselect6, SYS_wait4, SYS_waitid};

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
  const long number = std::atol(call.c_str());
  const bool has_descriptor =
      first <= 0x7fffffff && std::ranges::find(without_descriptor, number) == std::end(without_descriptor);
  return number == -1 || (has_descriptor && is_a_file(static_cast<int>(first))) ? Activity::uses_a_file
                                                                                : Activity::waits;
}

unsigned places_to_begin_with(const Options& options) noexcept {
  return options.io_executors != default_executors ? options.io_executors : std::max(4U, 2 * options.workers);
}

bool OpenPlaces::take() noexcept {
  const bool free = taken_ < places_;
  taken_ += free ? 1 : 0;
  return free;
}

bool OpenPlaces::worth_looking(bool all_have_begun) noexcept {
  // One that has a place and no thread yet waits for nothing but that.
  const bool quiet = std::exchange(ended_seen_, ended_) == ended_ && all_have_begun;
  quiet_looks_ = quiet ? quiet_looks_ + 1 : 0;
  return quiet || places_ != first_;
}

bool OpenPlaces::look(Activity busiest) noexcept {
  if (busiest == Activity::uses_a_file) {
    places_ = first_;
  }
  if (taken_ >= most_ || quiet_looks_ < looks_needed[static_cast<unsigned>(busiest)]) {
    return false;
  }
  quiet_looks_ = 0;
  places_ = std::max(places_, taken_) + 1;
  ++taken_;
  return true;
}

}  // namespace dovetail::tasking
