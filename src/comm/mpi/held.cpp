// Calls that have no form with a request: another thread is held in them while the task is paused. And the end of MPI, which waits for all.
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/process_mutex.hpp"
#include "comm/mpi/delivery.hpp"
#include "comm/mpi/engine.hpp"
#include "comm/mpi/library.hpp"
#include "comm/mpi/loader.hpp"
#include "dovetail/detail/mpi_calls.hpp"
#include "tasking/core.hpp"
#include "tasking/executors.hpp"
#include "tasking/live_runtimes.hpp"
#include "tasking/waiting.hpp"

namespace dovetail::comm::mpi {
namespace {

// Those of all runtimes. A report asks each runtime, whose source a call is; the end of MPI asks here.
class HeldCalls {
 public:
  void add(const tasking::Source* call) {
    const base::LockGuard lock(mutex_);
    calls_.push_back(call);
  }
  void remove(const tasking::Source* call) {
    const base::LockGuard lock(mutex_);
    std::erase(calls_, call);
  }
  void for_each_wait(const tasking::VisitWait& visit) const {
    const base::LockGuard lock(mutex_);
    for (const tasking::Source* call : calls_) {
      call->for_each_wait(visit);
    }
  }

 private:
  mutable base::ProcessMutex mutex_;
  std::vector<const tasking::Source*> calls_ GUARDED_BY(mutex_);
};

// Never destroyed: runtimes may end at the very end of the process.
HeldCalls& held_calls() {
  static auto* const made = new HeldCalls;
  return *made;
}

// Lies on the stack of the paused task.
class HeldCall final : public tasking::Source {
 public:
  HeldCall(Task* task, Library& library, const Description& description, const Start& call)
      : task_(task), library_(library), call_(call) {
    described_.description = description;
  }

  int make() {
    detail::RuntimeCore& core = tasking::runtime_of(task_);
    core.sources->add(this);
    held_calls().add(this);
    work_.of = this;
    work_.run = run;
    tasking::prepare_pause(task_);
    tasking::post_blocking(core, &work_);
    tasking::pause(task_, tasking::WaitReason::system_call);
    return code_;
  }

  bool for_each_wait(const tasking::VisitWait& visit) const override {
    visit(task_, [this] { return text_of(described_, library_); });
    return true;
  }
  bool has_pending() const noexcept override { return true; }
  void runtime_ends() noexcept override {}

 private:
  struct Work : tasking::BlockingWork {
    HeldCall* of = nullptr;
  };

  static void run(tasking::BlockingWork* work) {
    HeldCall& call = *static_cast<Work*>(work)->of;
    detail::RuntimeCore& core = tasking::runtime_of(call.task_);
    // A call of another task, queued behind this one, may be what the other ranks wait for.
    const bool is_executor = tasking::current_worker() < 0;
    if (is_executor) {
      core.executors->thread_blocks(nullptr);
    }
    call.library_.enter();
    call.code_ = call.call_.function(call.call_.closure.data(), nullptr);
    call.library_.leave();
    if (is_executor) {
      core.executors->thread_woken();
      core.executors->thread_unblocks(nullptr);
    }
    held_calls().remove(&call);
    core.sources->remove(&call);
    tasking::wake(call.task_);  // from here on the call is gone
  }

  Task* const task_;
  Library& library_;
  const Start& call_;
  Operation described_;
  Work work_;
  int code_ = 0;
};

// A task that is there as long as this is.
class KeptTask {
 public:
  explicit KeptTask(const Task* task) : task_(const_cast<Task*>(task)) { tasking::retain(task_); }
  KeptTask(KeptTask&& from) noexcept : task_(std::exchange(from.task_, nullptr)) {}
  ~KeptTask() {
    if (task_ != nullptr) {
      tasking::release(task_);
    }
  }
  KeptTask& operator=(KeptTask&&) = delete;
  Task* get() const noexcept { return task_; }

 private:
  Task* task_;
};

// What was submitted is started, where no other thread may do that.
void start_those_submitted() {
  if (!is_for_one_thread()) {
    std::this_thread::yield();  // another thread is about to start it, or to tell its task
    return;
  }
  std::deque<tasking::ForeignWaits::Stay> stays;
  std::vector<Engine*> engines;
  tasking::for_each_live_runtime([&](detail::RuntimeCore& core) {
    stays.emplace_back(core.foreign);
    engines.push_back(&Engine::of(core.root));
  });
  for (Engine* engine : engines) {
    engine->poll(tasking::Service::no_worker, tasking::PollScope::all);
  }
}

// Whether there was anything. Waits until the tasks that could be found have completed.
bool wait_for_those_in_flight() {
  std::vector<KeptTask> tasks;
  bool any = false;
  const tasking::VisitWait keep = [&tasks](const Task* task, const tasking::WaitText& /*what*/) {
    tasks.emplace_back(task);
  };
  tasking::for_each_live_runtime([&](detail::RuntimeCore& core) {
    const Engine& engine = Engine::of(core.root);
    if (engine.in_flight() > 0) {
      any = true;
      engine.for_each_wait(keep);
    }
  });
  held_calls().for_each_wait(keep);
  for (const KeptTask& task : tasks) {
    tasking::wait_for_task(task.get());
  }
  if (any && tasks.empty()) {
    start_those_submitted();
  }
  return any || !tasks.empty();
}

}  // namespace
}  // namespace dovetail::comm::mpi

namespace dovetail::detail::mpi {

int held(Abi abi, const Description& description, const Start& call) {
  comm::mpi::Library& library = comm::mpi::require_library(abi);
  if (library.level() != comm::mpi::Level::multiple) {
    static constinit std::atomic<bool> is_said{false};
    if (!is_said.exchange(true)) {
      std::fprintf(stderr,
                   "dovetail: %s in a task holds a thread, as do all calls without a form that does not block: MPI "
                   "was initialised without MPI_THREAD_MULTIPLE\n",
                   description.call);
    }
    const auto block = [&call](void* ended) {
      const int code = call.function(call.closure.data(), nullptr);
      *static_cast<bool*>(ended) = true;
      return code;
    };
    return attempt(abi, description, Start::of(block));
  }
  // The thread with the turn prepares the communicator for errors.
  attempt(abi, description, Start::of([](void* ended) {
            *static_cast<bool*>(ended) = true;
            return 0;
          }));
  if (!tasking::pause_switches()) {
    return call.function(call.closure.data(), nullptr);  // the thread is one that may block
  }
  return comm::mpi::HeldCall(tasking::current_task(), library, description, call).make();
}

bool end_operations() noexcept {
  try {
    while (comm::mpi::wait_for_those_in_flight()) {
    }
  } catch (...) {
    return false;
  }
  comm::mpi::forget_level();
  return true;
}

}  // namespace dovetail::detail::mpi
