#include "tasking/open_tasks.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "tasking/core.hpp"
#include "tasking/gate.hpp"
#include "tasking/settings.hpp"

namespace dovetail::tasking {
namespace {

// Tasks that wait for each other (a barrier, a message, a queue) need as many places as there are tasks. Those that use a device get there: when
// none of them has ended for so long, all may be waiting.
constexpr std::chrono::milliseconds between_looks{20};
// Tasks that compute will end some time; unless they spin until another task does something.
constexpr unsigned looks_at_those_that_compute = 50;
// So will a call on a file; but the task may make one after the other until another task does something.
constexpr unsigned looks_at_those_that_use_files = 500;

constexpr std::array<long, 15> file_calls{
    SYS_pread64,   SYS_pwrite64,  SYS_preadv,          SYS_pwritev, SYS_preadv2,
    SYS_pwritev2,  SYS_fsync,     SYS_fdatasync,       SYS_sync,    SYS_syncfs,
    SYS_fallocate, SYS_ftruncate, SYS_sync_file_range, SYS_msync,   SYS_copy_file_range};
// These wait for other threads where the descriptor, their first argument, is that of a pipe or a socket.
constexpr std::array<long, 4> calls_of_any_descriptor{SYS_read, SYS_write, SYS_readv, SYS_writev};

bool is_a_file(int descriptor) noexcept {
  struct statx status{};
  // What is known here is enough: a server that does not answer must not stop the thread that keeps time.
  return statx(descriptor, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &status) == 0 &&
         (S_ISREG(status.stx_mode) || S_ISBLK(status.stx_mode));
}

}  // namespace

bool is_open(const Task* task) noexcept {
  return task->extra == nullptr || task->extra->ticket == nullptr || !task->extra->ticket->is_limited();
}

bool keeps_its_place(const Task* task) noexcept {
  const auto reason = std::atomic_ref<WaitReason>(const_cast<Task*>(task)->wait_reason).load(std::memory_order_relaxed);
  return reason == WaitReason::time;
}

Activity activity_of(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/syscall");
  std::string number;
  unsigned long descriptor = 0;
  file >> number >> std::hex >> descriptor;
  if (number == "running") {
    return Activity::computes;
  }
  if (number == "-1") {
    return Activity::uses_a_file;  // it waits for a page of its memory
  }
  const long call = number.empty() ? -1 : std::atol(number.c_str());
  const auto is_among = [call](const auto& calls) {
    return std::find(calls.begin(), calls.end(), call) != calls.end();
  };
  const bool on_file =
      is_among(file_calls) || (is_among(calls_of_any_descriptor) && is_a_file(static_cast<int>(descriptor)));
  return on_file ? Activity::uses_a_file : Activity::waits;
}

unsigned places_to_begin_with(const Options& options) noexcept {
  return options.io_executors != default_executors ? options.io_executors : std::max(4U, 2 * options.workers);
}

bool Executors::take_place(Task* task) {
  if (taken_ < places_) {
    ++taken_;
    return true;
  }
  waiting_.push(task);
  core_.reactor.expect(Reactor::Upkeep::executors, base::Clock::now() + between_looks);
  return false;
}

// It is for the next one at once, which the calling thread runs, or another.
void Executors::give_place_back() {
  --taken_;
  while (taken_ < places_ && !waiting_.empty()) {
    ++taken_;
    tasks_.push(waiting_.pop());
  }
  if (waiting_.empty()) {
    places_ = first_places_;
  }
}

base::TimePoint Executors::look() {
  std::vector<pid_t> running;
  std::unique_lock lock(mutex_);
  if (waiting_.empty() || first_places_ == most_threads_) {
    return base::TimePoint::max();
  }
  const base::TimePoint next = base::Clock::now() + (places_ < most_threads_ ? 1 : 10) * between_looks;
  const std::uint64_t ended = ended_open_;
  // A task that has a place and no thread yet waits for nothing but that.
  const bool quiet = ended == std::exchange(ended_seen_, ended) && tasks_.empty();
  quiet_looks_ = quiet ? quiet_looks_ + 1 : 0;
  if (!quiet && places_ == first_places_) {
    return next;
  }
  bool waits_for_time = false;
  for (const Thread& thread : threads_) {
    const Task* const task = thread.open_task;
    if (task != nullptr && task->state.load(std::memory_order_relaxed) != TaskState::paused) {
      running.push_back(thread.id);
    } else if (task != nullptr) {
      waits_for_time = waits_for_time || keeps_its_place(task);
    }
  }
  lock.unlock();
  bool computes = waits_for_time;  // as that, it ends some time
  bool uses_a_file = false;
  for (auto thread = running.begin(); thread != running.end() && !uses_a_file; ++thread) {
    const Activity activity = activity_of(*thread);
    uses_a_file = activity == Activity::uses_a_file;
    computes = computes || activity == Activity::computes;
  }
  lock.lock();
  if (uses_a_file) {
    places_ = first_places_;
  }
  const unsigned looks = uses_a_file ? looks_at_those_that_use_files : (computes ? looks_at_those_that_compute : 1);
  if (quiet && ended == ended_open_ && tasks_.empty() && !waiting_.empty() && taken_ < most_threads_ &&
      quiet_looks_ >= looks) {
    quiet_looks_ = 0;
    places_ = std::max(places_, taken_) + 1;
    ++taken_;
    tasks_.push(waiting_.pop());
    need_thread(lock);
  }
  return next;
}

}  // namespace dovetail::tasking
