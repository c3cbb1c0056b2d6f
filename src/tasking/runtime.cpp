#include "dovetail/runtime.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <system_error>

#include "base/process_barrier.hpp"
#include "base/topology.hpp"
#include "tasking/access_observer.hpp"
#include "tasking/context.hpp"
#include "tasking/core.hpp"
#include "tasking/executors.hpp"
#include "tasking/failure.hpp"
#include "tasking/hosting.hpp"
#include "tasking/lifecycle.hpp"
#include "tasking/live_runtimes.hpp"
#include "tasking/running.hpp"
#include "tasking/schedule.hpp"
#include "tasking/service_registry.hpp"
#include "tasking/settings.hpp"
#include "tasking/stack_overflow.hpp"
#include "tasking/upkeep.hpp"
#include "tasking/waiting.hpp"
#include "tasking/worker.hpp"
#include "trace/trace.hpp"

namespace dovetail {
namespace {

void after_fork_in_child() {
  tasking::for_each_live_runtime_after_fork([](detail::RuntimeCore& core) { core.forked.store(true); });
  tasking::context() = {};
}

void write_trace(const detail::RuntimeCore& core) noexcept {
  if (core.options.trace.empty()) {
    return;
  }
  trace::stop();
  try {
    trace::write(core.options.trace);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "dovetail: the trace was not written: %s\n", error.what());
  }
}

constexpr detail::BodyOperations no_body{nullptr, nullptr, nullptr};

std::system_error no_threads(const std::system_error& error, unsigned workers) {
  return {error.code(),
          "a runtime of " + std::to_string(workers) +
              " workers cannot make its threads; allow the user more "
              "(`ulimit -u`, pids.max of the control group), or set Options::workers or DOVETAIL_WORKERS to fewer"};
}

}  // namespace

namespace detail {

RuntimeCore::RuntimeCore(const Options& given)
    : options(tasking::complete_options(given)),
      stacks(options.stack_size),
      reactor(*this, tasking::duties_of_reactor()),
      fibers(stacks, tasking::worker_fiber_entry(),
             [this] {
               reactor.expect(tasking::Reactor::Upkeep::fibers,
                              base::Clock::now() + tasking::FiberPool::between_rounds);
             }),
      throttle(options.pending_limit) {
  static const int registered = pthread_atfork(nullptr, nullptr, &after_fork_in_child);
  static_cast<void>(registered);
  tasking::report_stack_overflows();
  barrier_works = base::process_wide_barrier();
  root = tasking::make_task(this, nullptr, &no_body, 0);
  // The destructor does not run for a runtime that cannot be made.
  std::unique_ptr<Task, void (*)(Task*) noexcept> unfinished(root, &tasking::free_task);
  tasking::extra_of(root).domain = std::make_unique<tasking::DependencyDomain>();
  executors = std::make_unique<tasking::Executors>(
      *this, &tasking::run_body, [](Task* task) { tasking::schedule(task); }, options.io_executors,
      tasking::places_to_begin_with(options));
  tasking::make_services(*this);
  observer = tasking::make_access_observer(*this);
  for (unsigned index = 0; index < options.workers; ++index) {
    workers.push_back(std::make_unique<tasking::Worker>(*this, index));
    idle.add(workers.back()->sleeper);
  }
  base::Topology topology;
  if (options.bind_workers) {
    topology = base::discover_topology();
  }
  tasking::add_live_runtime(this);
  if (!options.trace.empty()) {
    trace::start();
  }
  try {
    reactor.start();
    for (unsigned index = 0; index < options.workers; ++index) {
      const int processor =
          topology.units.empty() ? -1 : static_cast<int>(topology.units[index % topology.units.size()].processor);
      tasking::start(*workers[index], processor);
    }
  } catch (const std::system_error& error) {
    stop_workers();
    throw no_threads(error, options.workers);
  } catch (...) {
    stop_workers();
    throw;
  }
  [[maybe_unused]] const auto* const finished = unfinished.release();
  tasking::begin_hosting(*this);
}

void RuntimeCore::rest_for_ever() noexcept {
  for (;;) {
    ::pause();
  }
}

void RuntimeCore::stop_workers() noexcept {
  stopping.store(true, std::memory_order_seq_cst);
  for (auto& worker : workers) {
    worker->sleeper.unpark();
  }
  for (auto& worker : workers) {
    if (worker->thread.joinable()) {
      worker->thread.join();
    }
  }
  reactor.stop();
  sources->runtime_ends();
  executors->stop();
  queues.outside.see_off();
  while (visitors.load(std::memory_order_acquire) != 0) {
    std::this_thread::yield();  // a thread outside of the runtime is a few instructions from leaving
  }
  tasking::remove_live_runtime(this);
}

RuntimeCore::~RuntimeCore() {
  tasking::free_task(root);
  services.clear();
}

std::size_t RuntimeCore::in_flight() const noexcept {
  std::size_t count = 0;
  for (const tasking::ServiceEntry& entry : services) {
    count += entry.service->in_flight();
  }
  return count;
}

std::size_t RuntimeCore::in_flight_elsewhere() const noexcept {
  std::size_t count = 0;
  for (const tasking::ServiceEntry& entry : services) {
    count += entry.service->ends_elsewhere() ? entry.service->in_flight() : 0;
  }
  return count;
}

bool RuntimeCore::drains() noexcept {
  const tasking::ForeignWaits::Stay stay(foreign);
  base::UniqueLock lock(foreign.mutex);
  const base::TimePoint deadline = base::Clock::now() + std::chrono::seconds(1);
  while (root->children.load() != 0 && base::Clock::now() < deadline) {
    foreign.changed.wait_until(lock, deadline);
  }
  return root->children.load() == 0;
}

void RuntimeCore::see_waiters_off() noexcept {
  while (foreign.waiting.load(std::memory_order_seq_cst) != 0) {
    std::this_thread::yield();  // it has been woken
  }
  const base::LockGuard lock(foreign.mutex);  // which some hold to the last
}

void RuntimeCore::require_usable() const {
  if (forked.load(std::memory_order_relaxed)) [[unlikely]] {
    throw std::logic_error(
        "this Runtime belongs to the parent process: a fork has no workers; make a new Runtime in the child");
  }
}

}  // namespace detail

Runtime::Runtime(const Options& options) : core_(new detail::RuntimeCore(options)) {}

Runtime::~Runtime() = default;

void Runtime::Delete::operator()(detail::RuntimeCore* core) const noexcept {
  if (core->forked.load()) {
    return;  // its threads are the parent's; nothing here can be taken apart
  }
  tasking::end_hosting(*core);
  const tasking::ThreadContext& here = tasking::context();
  if (here.core == core || (here.onready != nullptr && here.onready->core == core)) {
    // `exit` was called in a task, which therefore never ends. The other threads stop where they are between two tasks, and end with
    // the process, which is near: what they use must stay.
    core->abandoned.store(true, std::memory_order_relaxed);
    write_trace(*core);
    return;
  }
  bool ended = true;
  try {
    tasking::wait_for_all(*core);
  } catch (const std::exception&) {
    // Reported where it was found. Tasks that wait for a thread outside would wait on: their memory is given up.
    ended = core->root->children.load() == 0 || core->drains();
  }
  core->stop_workers();
  while (tasking::Failure* failure = tasking::take_child_failure(core->root)) {
    std::fprintf(stderr, "dovetail: at the end of the runtime nobody had asked for this failure: %s\n",
                 failure->describe().c_str());
    failure->release();
  }
  write_trace(*core);
  if (ended) {
    core->see_waiters_off();
    delete core;
  }
}

void Runtime::wait() {
  if (tasking::context().task != nullptr && tasking::context().core == core_.get()) {
    throw std::logic_error("Runtime::wait() would wait for the task that calls it; use dovetail::wait() inside a task");
  }
  tasking::require_may_wait_for("all tasks (Runtime::wait)");
  // Until this returns. Another thread may end the process meanwhile, and with it a static runtime.
  const tasking::ForeignWaits::Stay stay(core_->foreign);
  try {
    tasking::wait_for_all(*core_);
  } catch (const Stuck&) {
    // The tasks that could be told fail now, and others with them: that is this report, not a failure of its own.
    if (core_->drains()) {
      tasking::drop_stuck_failures(core_->root);
    }
    throw;
  }
  {
    const base::LockGuard lock(core_->root->extra->domain->lock());
    if (core_->root->children.load() == 0) {
      core_->root->extra->domain->clear();
    }
  }
  if (tasking::Failure* failure = tasking::take_child_failure(core_->root)) {
    try {
      failure->raise();
    } catch (...) {
      failure->release();
      throw;
    }
  }
}

void Runtime::cancel() noexcept {
  core_->cancel_epoch.fetch_add(1);
  tasking::tell_cancelled(core_.get());
}

unsigned Runtime::workers() const noexcept { return core_->options.workers; }

const Options& Runtime::options() const noexcept { return core_->options; }

}  // namespace dovetail
