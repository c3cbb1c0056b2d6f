#include "thread_state.hpp"

#include <unistd.h>

#include <atomic>
#include <memory>
#include <vector>

#include "gilstate.h"
#include "tasking/pause.hpp"
#include "tasking/service.hpp"
#include "tasking/waiting.hpp"
#include "trace/trace.hpp"

namespace dovetail::python {
namespace {

std::atomic<std::ptrdiff_t> outside_work{0};

// When the interpreter ends, CPython before 3.14 ends each thread that asks for it, by unwinding its stack. That would end the process in the midst of
// C++: the thread stays here instead, as with CPython 3.14.
void take_interpreter(PyThreadState* state) {
  try {
    PyEval_RestoreThread(state);
  } catch (...) {
    for (;;) {
      ::pause();
    }
  }
}

struct ThreadStates {
  PyThreadState* kept = nullptr;        ///< Attached, though no body runs: for the next one.
  unsigned made = 0;                    ///< How many were made here.
  PyThreadState* blocked = nullptr;     ///< Of a thread that blocks outside of any task.
  std::vector<PyThreadState*> resting;  ///< Used by no body.
  /// Of waits outside of any task.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();

  ThreadStates() = default;
  ThreadStates(const ThreadStates&) = delete;
  ThreadStates& operator=(const ThreadStates&) = delete;
  ~ThreadStates() {
    if ((kept == nullptr && resting.empty()) || Py_IsInitialized() == 0) {
      return;
    }
    if (kept == nullptr) {
      kept = resting.back();
      resting.pop_back();
      take_interpreter(kept);
      dovetail_python_bind_gilstate(kept);
    }
    for (PyThreadState* const state : resting) {
      PyThreadState_Clear(state);
      PyThreadState_Delete(state);
    }
    PyThreadState_Clear(kept);
    PyThreadState_DeleteCurrent();
  }
};

// Not inlined, so that no address of it is kept across a pause.
[[gnu::noinline]] ThreadStates& states() {
  thread_local ThreadStates instance;
  return instance;
}

void attach(PyThreadState* state) {
  const std::uint64_t since = trace::wait_begins();
  take_interpreter(state);
  trace::waited(since, "the interpreter");
  dovetail_python_bind_gilstate(state);
}

void rest_kept(ThreadStates& mine) {
  mine.resting.push_back(mine.kept);
  mine.kept = nullptr;
  PyEval_SaveThread();
}

bool signal_arrived() {
  if (std::chrono::steady_clock::now() >= states().deadline) {
    return true;
  }
  PyThreadState* const state = states().blocked;
  if (state == nullptr) {
    return false;
  }
  attach(state);
  const bool interrupted = PyErr_CheckSignals() != 0;
  PyEval_SaveThread();
  return interrupted;
}

// A C extension that lets go of the interpreter around a blocking call takes it again after the call, with the state that it had.
constexpr tasking::SystemCallPause extension_call{
    .before = []() noexcept -> void* { return Py_IsInitialized() != 0 ? PyGILState_GetThisThreadState() : nullptr; },
    .after =
        [](void* state) noexcept {
          ThreadStates& mine = states();
          if (mine.kept != nullptr) {
            rest_kept(mine);  // or the thread would wait for itself
          }
          if (state != nullptr) {
            dovetail_python_bind_gilstate(static_cast<PyThreadState*>(state));
          }
        },
};

// Workers flush their services before they run something long and before they sleep: then others may have the interpreter.
class InterpreterService final : public tasking::Service {
 public:
  unsigned poll(unsigned /*worker*/, tasking::PollScope /*scope*/) override { return 0; }
  void flush(unsigned /*worker*/) override {
    ThreadStates& mine = states();
    if (mine.kept != nullptr) {
      rest_kept(mine);
    }
  }
  std::size_t in_flight() const noexcept override {
    return static_cast<std::size_t>(outside_work.load(std::memory_order_relaxed));
  }
};

}  // namespace

void enter_body() {
  ThreadStates& mine = states();
  if (mine.kept != nullptr) {
    mine.kept = nullptr;
    return;
  }
  PyThreadState* state = nullptr;
  if (mine.resting.empty()) {
    state = PyThreadState_New(PyInterpreterState_Main());
    if (state == nullptr) {
      throw std::bad_alloc();
    }
    // Asynchronous exceptions are sent to numbers of threads, and go to one of the states that have the number.
    if (mine.made++ > 0) {
      static std::atomic<unsigned long> next{1UL << 63U};
      state->thread_id = next.fetch_add(1, std::memory_order_relaxed);
    }
  } else {
    state = mine.resting.back();
    mine.resting.pop_back();
  }
  attach(state);
}

void leave_body() {
  ThreadStates& mine = states();
  mine.kept = PyThreadState_Get();
  if (tasking::current_worker() >= 0) {
    tasking::request_flush();
  } else {
    rest_kept(mine);
  }
}

// The call uses the kept state and clears `kept`. Otherwise a wait in the call would release that state, and the service of the interpreter would
// release it once more.
Locked::Locked() : kept_(states().kept != nullptr), entered_(kept_ || !holds_interpreter()) {
  if (entered_) {
    enter_body();
  }
}

Locked::~Locked() {
  if (entered_) {
    states().kept = PyThreadState_Get();
    if (!kept_) {
      rest_kept(states());  // unlike after a body: the thread may be about to sleep
    }
  }
}

Unlocked::Unlocked() : state_(nullptr), outer_(states().blocked) {
  if (holds_interpreter()) {
    not_computing_.emplace();
    state_ = PyEval_SaveThread();
  }
  if (tasking::current_task() == nullptr) {
    states().blocked = state_;
    tasking::set_interrupt_look(state_ == nullptr ? nullptr : &signal_arrived);
  }
}

Unlocked::~Unlocked() {
  ThreadStates& mine = states();
  if (tasking::current_task() == nullptr) {
    mine.blocked = outer_;
  }
  if (state_ == nullptr) {
    return;
  }
  if (mine.kept != nullptr) {
    rest_kept(mine);
  }
  attach(state_);
}

WaitsUntil::WaitsUntil(std::chrono::steady_clock::time_point deadline) { states().deadline = deadline; }
WaitsUntil::~WaitsUntil() { states().deadline = std::chrono::steady_clock::time_point::max(); }

bool holds_interpreter() noexcept { return PyGILState_Check() != 0; }

void add_outside_work(std::ptrdiff_t count) noexcept { outside_work.fetch_add(count, std::memory_order_relaxed); }

void register_interpreter_service() {
  static const char key = 0;
  tasking::set_system_call_pause(&extension_call);
  tasking::register_service(&key,
                            [](detail::RuntimeCore&, const Options&, unsigned) -> std::unique_ptr<tasking::Service> {
                              return std::make_unique<InterpreterService>();
                            });
}

}  // namespace dovetail::python
