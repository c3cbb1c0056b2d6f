#include "hidden_runtime.hpp"

#include <dovetail_omp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "base/mutex.hpp"
#include "call.hpp"
#include "descriptors.hpp"
#include "dovetail/runtime.hpp"
#include "dovetail/this_task.hpp"
#include "openmp_runtime.hpp"

namespace dovetail::omp {
namespace {

void perform_and_release(Call& call) noexcept {
  const CallResult outcome = perform(call);
  deliver(call, outcome);
  release(*call.task, 1);
}

/// Passes calls from many threads to one task. Each push onto the empty queue is followed by one `resume`. The runtime keeps it if the task is
/// not asleep yet, so that no call is left behind.
class HiddenRuntime {
 public:
  HiddenRuntime() : runtime_(Options{.workers = 1, .stuck_after = std::chrono::milliseconds(0)}) {
    std::atomic<bool> started{false};
    runtime_.spawn({.label = "OpenMP calls"}, [this, &started] {
      pump_ = this_task::handle();
      started.store(true, std::memory_order_release);
      started.notify_one();
      run();
    });
    started.wait(false, std::memory_order_acquire);
  }
  HiddenRuntime(const HiddenRuntime&) = delete;
  HiddenRuntime& operator=(const HiddenRuntime&) = delete;
  /// No thread may push any more.
  ~HiddenRuntime() {
    stopping_.store(true, std::memory_order_release);
    pump_.resume();
    pump_ = TaskHandle();
  }

  void push(Call* first, Call* last) noexcept {
    Call* head = head_.load(std::memory_order_relaxed);
    do {
      last->next = head;
    } while (!head_.compare_exchange_weak(head, first, std::memory_order_release, std::memory_order_relaxed));
    if (head == nullptr) {
      pump_.resume();
    }
  }

 private:
  // How many are started before those that were started get their turn.
  static constexpr unsigned most_in_a_row = 256;

  void run() {
    unsigned in_a_row = 0;
    for (;;) {
      Call* call = head_.exchange(nullptr, std::memory_order_acquire);
      if (call == nullptr) {
        if (stopping_.load(std::memory_order_acquire)) {
          return;
        }
        in_a_row = 0;
        this_task::suspend();
        continue;
      }
      for (Call* next = nullptr; call != nullptr; call = next) {
        next = call->next;
        start(*call);
        if (++in_a_row >= most_in_a_row) {
          in_a_row = 0;
          this_task::yield();
        }
      }
    }
  }

  static void start(Call& call) noexcept {
    try {
      spawn([&call] { perform_and_release(call); });
    } catch (...) {
      perform_and_release(call);  // out of memory for a task: here and now, then
    }
  }

  alignas(64) std::atomic<Call*> head_{nullptr};
  alignas(64) std::atomic<bool> stopping_{false};
  TaskHandle pump_;
  // Last: its destructor, the first to run, waits for the task above and for all calls.
  Runtime runtime_;
};

// The one of this process. `users` counts the threads that have read `current` and still use it. The thread that takes `current` away waits for
// them, a matter of a few instructions.
struct Shared {
  base::Mutex making;
  std::atomic<HiddenRuntime*> current{nullptr};
  std::atomic<unsigned> users{0};
  bool refused GUARDED_BY(making) = false;  // There can be none, and it has been said.
  bool leaving GUARDED_BY(making) = false;  // The program exits.
  bool at_exit_registered GUARDED_BY(making) = false;
};
alignas(Shared) std::byte shared_memory[sizeof(Shared)];
Shared* const shared = new (shared_memory) Shared;  // Never destroyed: threads may still ask while the program ends.

// In the child of a fork the worker is gone, and a lock may be held by a thread that is too. The parent's state is left alone.
[[maybe_unused]] const int fork_handler = pthread_atfork(nullptr, nullptr, []() NO_THREAD_SAFETY_ANALYSIS {
  const bool registered = shared->at_exit_registered;
  (new (shared_memory) Shared)->at_exit_registered = registered;
  abandon_files();
});

// New threads inherit the signal mask and the processors of the thread that makes them. The runtime's threads must take no signals of the
// program. They must not be bound to the one core to which OpenMP has bound this thread.
class Surroundings {
 public:
  Surroundings() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &signals_);
    bound_ = sched_getaffinity(0, sizeof processors_, &processors_) == 0;
    if (bound_) {
      cpu_set_t wide = processors_;
      try {
        add_places(wide);
      } catch (...) {
        wide = processors_;
      }
      sched_setaffinity(0, sizeof wide, &wide);
    }
  }
  Surroundings(const Surroundings&) = delete;
  Surroundings& operator=(const Surroundings&) = delete;
  ~Surroundings() {
    if (bound_) {
      sched_setaffinity(0, sizeof processors_, &processors_);
    }
    pthread_sigmask(SIG_SETMASK, &signals_, nullptr);
  }

 private:
  sigset_t signals_{};
  cpu_set_t processors_{};
  bool bound_ = false;
};

void stop_at_exit() {
  {
    const base::LockGuard lock(shared->making);
    shared->leaving = true;
  }
  dovetail_omp_stop();
}

/// Returns 0 or an errno.
int make() noexcept REQUIRES(shared->making) {
  try {
    const Surroundings surroundings;
    shared->current.store(new HiddenRuntime, std::memory_order_seq_cst);
  } catch (const std::system_error& error) {
    std::fprintf(stderr, "dovetail: no thread for the I/O of OpenMP tasks, which will block instead: %s\n",
                 error.what());
    return error.code().value() != 0 ? error.code().value() : EAGAIN;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "dovetail: I/O of OpenMP tasks will block: %s\n", error.what());
    return EINVAL;
  }
  if (!shared->at_exit_registered) {
    shared->at_exit_registered = std::atexit(stop_at_exit) == 0;
  }
  return 0;
}

/// Counts the caller as a user and returns the runtime; null: there can be none, and the caller is not counted.
HiddenRuntime* enter() noexcept {
  for (;;) {
    // Sequentially consistent, as in `dovetail_omp_stop`: one of the two sees the other.
    shared->users.fetch_add(1, std::memory_order_seq_cst);
    if (HiddenRuntime* current = shared->current.load(std::memory_order_seq_cst)) [[likely]] {
      return current;
    }
    shared->users.fetch_sub(1, std::memory_order_release);
    const base::LockGuard lock(shared->making);
    if (shared->current.load(std::memory_order_relaxed) != nullptr) {
      continue;
    }
    if (shared->refused || shared->leaving) {
      return nullptr;
    }
    shared->refused = make() != 0;
  }
}

}  // namespace

void hand_over(Call* first, Call* last) noexcept {
  // Newest first, as in the queue: the order means nothing, so nothing reverses the queue.
  if (HiddenRuntime* runtime = enter()) {
    runtime->push(first, last);
    shared->users.fetch_sub(1, std::memory_order_release);
    return;
  }
  last->next = nullptr;
  for (Call* next = nullptr; first != nullptr; first = next) {
    next = first->next;
    perform_and_release(*first);
  }
}

}  // namespace dovetail::omp

using namespace dovetail::omp;

int dovetail_omp_start(void) {
  if (!can_fulfill()) {
    return -ENOSYS;
  }
  const dovetail::base::LockGuard lock(shared->making);
  if (shared->leaving) {
    return -EAGAIN;
  }
  if (shared->current.load(std::memory_order_relaxed) != nullptr) {
    return 0;
  }
  const int error = make();
  shared->refused = error != 0;
  return -error;
}

int dovetail_omp_stop(void) {
  if (dovetail::this_task::active()) {
    return -EDEADLK;
  }
  HiddenRuntime* stopped = nullptr;
  {
    const dovetail::base::LockGuard lock(shared->making);
    stopped = shared->current.exchange(nullptr, std::memory_order_seq_cst);
  }
  while (shared->users.load(std::memory_order_seq_cst) != 0) {
    std::this_thread::yield();
  }
  delete stopped;
  forget_files();
  return 0;
}
