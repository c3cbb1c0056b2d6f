#include "blocking_bodies.hpp"

#include <fcntl.h>
#include <nanobind/nanobind.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "base/without_signals.hpp"
#include "call.hpp"
#include "failure.hpp"

namespace nb = nanobind;

namespace dovetail::python {
namespace {

constexpr std::chrono::milliseconds between_looks(50);
constexpr std::int64_t long_body = 20'000'000;    // nanoseconds; the coarse clock goes on every 4 ms or less often
constexpr std::uint32_t enough_short_bodies = 4;  // after so many in sequence, a body is taken for a short one
constexpr unsigned short_bodies_without_clock =
    16;                                     // of short ones, one in so many is timed: it may have become a long one
constexpr std::uint32_t enough_looks = 20;  // a second of bodies

PyObject* blocking_reporter = nullptr;  // never freed

struct NamedCall {
  long number;
  const char* name;
};
// Calls in which a thread waits for a disk, a network, another process or a time. Not `futex`: locks, the interpreter. Not `io_uring_enter`: pauses.
constexpr NamedCall waiting_calls[] = {
#ifdef SYS_open
    {SYS_open, "open"},
    {SYS_stat, "stat"},
    {SYS_lstat, "lstat"},
    {SYS_poll, "poll"},
    {SYS_select, "select"},
    {SYS_epoll_wait, "epoll_wait"},
    {SYS_rename, "rename"},
    {SYS_unlink, "unlink"},
#endif
    {SYS_read, "read"},
    {SYS_pread64, "pread"},
    {SYS_readv, "readv"},
    {SYS_preadv, "preadv"},
    {SYS_write, "write"},
    {SYS_pwrite64, "pwrite"},
    {SYS_writev, "writev"},
    {SYS_pwritev, "pwritev"},
    {SYS_fsync, "fsync"},
    {SYS_fdatasync, "fdatasync"},
    {SYS_sync_file_range, "sync_file_range"},
    {SYS_openat, "open"},
    {SYS_newfstatat, "stat"},
    {SYS_fstat, "stat"},
    {SYS_getdents64, "getdents"},
    {SYS_fallocate, "fallocate"},
    {SYS_ftruncate, "ftruncate"},
    {SYS_sendfile, "sendfile"},
    {SYS_copy_file_range, "copy_file_range"},
    {SYS_close, "close"},
    {SYS_flock, "flock"},
    {SYS_ppoll, "poll"},
    {SYS_pselect6, "select"},
    {SYS_epoll_pwait, "epoll_wait"},
    {SYS_connect, "connect"},
    {SYS_accept, "accept"},
    {SYS_accept4, "accept"},
    {SYS_recvfrom, "recv"},
    {SYS_recvmsg, "recvmsg"},
    {SYS_sendto, "send"},
    {SYS_sendmsg, "sendmsg"},
    {SYS_nanosleep, "sleep"},
    {SYS_clock_nanosleep, "sleep"},
    {SYS_wait4, "wait for a process"},
    {SYS_waitid, "wait for a process"},
};

std::int64_t coarse_time() noexcept { return static_cast<std::int64_t>(base::coarse_nanoseconds()); }

// The call that a thread of this process waits in; null: none of these, or it computes, or the kernel does not say.
const char* waiting_call_of(int thread) noexcept {
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "/proc/self/task/%d/syscall", thread);
  const int file = ::open(path.data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return nullptr;
  }
  std::array<char, 32> text{};
  const ssize_t length = ::read(file, text.data(), text.size());
  ::close(file);
  long number = -1;
  if (length <= 0 || std::from_chars(text.data(), text.data() + length, number).ec != std::errc{}) {
    return nullptr;  // it is running
  }
  const auto* const found = std::ranges::find(waiting_calls, number, &NamedCall::number);
  return found == std::end(waiting_calls) ? nullptr : found->name;
}

}  // namespace

/// Of a function whose bodies wait for most of their time.
struct Seen {
  unsigned percent = 0;
  const char* last_call = nullptr;
};

/// The thread that looks, and what it looks at. It sleeps, without an end, while there is nothing.
class BlockingObserver {
 public:
  void enter(const BlockingWatch& watch) {
    const base::LockGuard lock(mutex_);
    if (!runs_) {
      const base::WithoutSignals none;
      std::thread([this] { look_on(); }).detach();
      runs_ = true;
    }
    watched_.push_back(&watch);
    entered_.notify_one();
  }

  // Returns whether it is to be told what was seen, which is then in `seen`.
  bool leave(const BlockingWatch& watch, Seen& seen) noexcept {
    const base::LockGuard lock(mutex_);
    std::erase(watched_, &watch);
    BlockingLooks& looks = *watch.looks_;
    if (looks.looks < enough_looks || 2 * looks.waiting <= looks.looks || looks.told.exchange(true)) {
      return false;
    }
    seen = {100 * looks.waiting / looks.looks, looks.last_call};
    return true;
  }

 private:
  void look_on() {
    for (;;) {
      {
        base::UniqueLock lock(mutex_);
        while (watched_.empty()) {
          entered_.wait(lock);
        }
      }
      std::this_thread::sleep_for(between_looks);
      const base::LockGuard lock(mutex_);
      for (const BlockingWatch* watch : watched_) {
        if (!shares_thread(*watch)) {
          look(*watch);
        }
      }
    }
  }

  // If several bodies have begun on one thread, all but one have paused, and nothing tells which.
  bool shares_thread(const BlockingWatch& watch) const REQUIRES(mutex_) {
    return std::ranges::count(watched_, watch.thread_, &BlockingWatch::thread_) > 1;
  }

  void look(const BlockingWatch& watch) REQUIRES(mutex_) {
    BlockingLooks& looks = *watch.looks_;
    ++looks.looks;
    if (const char* const call = waiting_call_of(watch.thread_)) {
      ++looks.waiting;
      looks.last_call = call;
    }
  }

  base::Mutex mutex_;  // Taken with the interpreter held, and never the other way round.
  base::ConditionVariable entered_;
  std::vector<const BlockingWatch*> watched_ GUARDED_BY(mutex_);
  bool runs_ GUARDED_BY(mutex_) = false;
};

namespace {

// Never destroyed: its thread ends with the process. The child of a fork has another one, since neither the thread nor the bodies are there.
BlockingObserver& observer() {
  static std::atomic<BlockingObserver*> made{nullptr};
  [[maybe_unused]] static const int registered = [] {
    made = new BlockingObserver;
    return pthread_atfork(nullptr, nullptr, [] { made = new BlockingObserver; });
  }();
  return *made;
}

void tell(const Call& call, const Seen& seen) {
  if (blocking_reporter != nullptr &&
      !Held::adopt(PyObject_CallFunction(blocking_reporter, "sIs", call.signature->label.c_str(), seen.percent,
                                         seen.last_call))) {
    PyErr_WriteUnraisable(blocking_reporter);
  }
}

}  // namespace

BlockingWatch::BlockingWatch(const Call& call) noexcept : call_(call), looks_(nullptr) {
  const Signature& signature = *call.signature;
  if (!signature.runs_on_workers() || signature.blocking.told.load(std::memory_order_relaxed)) {
    return;
  }
  const bool is_short = signature.blocking.short_bodies.load(std::memory_order_relaxed) >= enough_short_bodies;
  static thread_local unsigned short_bodies = 0;
  if (is_short && ++short_bodies % short_bodies_without_clock != 0) {
    return;
  }
  looks_ = &signature.blocking;
  begun_ = coarse_time();
  if (is_short) {
    return;
  }
  try {
    thread_ = gettid();
    observer().enter(*this);
  } catch (const std::exception&) {
    thread_ = 0;  // there is no thread or no memory for it: this body is not looked at
  }
}

BlockingWatch::~BlockingWatch() {
  if (looks_ == nullptr) {
    return;
  }
  if (coarse_time() - begun_ >= long_body) {
    looks_->short_bodies.store(0, std::memory_order_relaxed);
  } else if (thread_ != 0) {
    looks_->short_bodies.fetch_add(1, std::memory_order_relaxed);
  }
  if (thread_ == 0) {
    return;
  }
  Seen seen;
  if (observer().leave(*this, seen)) {
    tell(call_, seen);
  }
}

void bind_blocking_bodies(nb::module_& module) {
  module.def(
      "set_blocking_reporter", [](nb::object function) { blocking_reporter = function.release().ptr(); },
      nb::arg("reporter"),
      "What is called once for a task whose bodies hold workers while they wait in the operating system: with its "
      "label, in how many of a hundred looks "
      "they did, and the name of the last such call.");
}

}  // namespace dovetail::python
