#include "dovetail/polling.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <unordered_set>
#include <utility>

#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "dovetail/runtime.hpp"
#include "tasking/core.hpp"
#include "tasking/failure.hpp"
#include "tasking/pending_operation.hpp"

namespace dovetail {

// Kept alive by the timer that is set for it. `armed` says that there is one.
struct [[gnu::visibility("hidden")]] PollingService::State : std::enable_shared_from_this<State>, tasking::Source {
  State(detail::RuntimeCore& of, std::string name, PollingRate bounds, std::function<std::size_t()> function,
        int watched)
      : core(of),
        registry(of.sources),
        label(std::move(name)),
        rate(bounds),
        descriptor(watched),
        poll(std::move(function)),
        interval(bounds.shortest.count()) {}

  void added() {
    if (!armed.exchange(true, std::memory_order_seq_cst)) {
      interval.store(rate.shortest.count(), std::memory_order_relaxed);
      arm();
    }
    watch();
  }

  void arm() {
    core.reactor.call_at(base::Clock::now() + std::chrono::nanoseconds(interval.load(std::memory_order_relaxed)),
                         [self = shared_from_this()] { self->run_by_the_clock(); });
  }

  void watch() {
    if (descriptor < 0 || watching.exchange(true, std::memory_order_seq_cst)) {
      return;
    }
    auto wait = std::make_shared<tasking::DescriptorWait>();
    wait->descriptor = descriptor;
    wait->events = EPOLLIN;
    wait->ready = [self = shared_from_this()] {
      self->watching.store(false, std::memory_order_seq_cst);
      if (self->run()) {
        self->watch();
      }
    };
    if (const int error = core.reactor.watch(wait); error != 0) {
      watching.store(false);
      throw std::system_error(error, std::system_category(),
                              "polling service '" + label + "' cannot watch descriptor " + std::to_string(descriptor));
    }
  }

  void run_by_the_clock() {
    run();
    armed.store(false, std::memory_order_seq_cst);
    if (has_pending() && !armed.exchange(true)) {
      arm();
    }
  }

  // Returns whether something is pending still.
  bool run() noexcept {
    const base::LockGuard lock(mutex);
    if (closed || !has_pending()) {
      return false;
    }
    const std::size_t ended_before = ended.load(std::memory_order_relaxed);
    polled_by.store(std::this_thread::get_id(), std::memory_order_relaxed);
    try {
      const std::size_t found = poll();
      raw.fetch_sub(static_cast<std::int64_t>(found), std::memory_order_acq_rel);
      adapt(found + ended.load(std::memory_order_relaxed) - ended_before);
    } catch (...) {
      give_up(std::current_exception());
    }
    polled_by.store({}, std::memory_order_relaxed);
    return has_pending();
  }

  // The polling function itself may call `exit`, which destroys a static service on the thread that holds its lock and never gives it back.
  void close() noexcept NO_THREAD_SAFETY_ANALYSIS {
    if (polled_by.load(std::memory_order_relaxed) == std::this_thread::get_id()) {
      closed = true;
      return;
    }
    const base::LockGuard lock(mutex);
    closed = true;
  }

  void runtime_ends() noexcept override {
    close();
    const auto cause = std::make_exception_ptr(std::runtime_error("its runtime has ended"));
    {
      const base::LockGuard lock(operations_mutex);
      refusal = cause;
    }
    fail_all(cause);
  }

  void require_open() const REQUIRES(operations_mutex) {
    if (refusal) {
      throw std::runtime_error("polling service '" + label + "' has ended: " + tasking::describe_exception(refusal));
    }
  }

  // The polling function has thrown.
  void give_up(const std::exception_ptr& cause) noexcept REQUIRES(mutex) {
    closed = true;
    std::fprintf(stderr, "dovetail: polling service '%s' ended: %s\n", label.c_str(),
                 tasking::describe_exception(cause).c_str());
    if (const auto lost = raw.exchange(0, std::memory_order_acq_rel); lost > 0) {
      std::fprintf(stderr, "dovetail: %lld events that it was to fulfil will not be: use PollingService::expect\n",
                   static_cast<long long>(lost));
    }
    {
      const base::LockGuard lock(operations_mutex);
      refusal = cause;
    }
    fail_all(cause);
  }

  void fail_all(const std::exception_ptr& cause) noexcept {
    std::vector<std::shared_ptr<PendingOperation::State>> left;
    {
      const base::LockGuard lock(operations_mutex);
      for (PendingOperation::State* operation : operations) {
        if (auto alive = operation->weak_from_this().lock()) {
          left.push_back(std::move(alive));
        }
      }
    }
    for (const auto& operation : left) {
      operation->end(cause);
    }
  }

  void forget(PendingOperation::State& operation) {
    {
      const base::LockGuard lock(operations_mutex);
      operations.erase(&operation);
    }
    ended.fetch_add(1, std::memory_order_relaxed);
    expected.fetch_sub(1, std::memory_order_acq_rel);
  }

  bool has_pending() const noexcept override {
    return raw.load(std::memory_order_seq_cst) > 0 || expected.load(std::memory_order_seq_cst) > 0;
  }

  bool for_each_wait(const tasking::VisitWait& visit) const override {
    const base::LockGuard lock(operations_mutex);
    for (PendingOperation::State* operation : operations) {
      // A task that waits is there as long as the operation has not ended, which takes its lock.
      const base::LockGuard operation_lock(operation->mutex);
      if (const detail::Task* task = operation->paused != nullptr ? operation->paused : operation->bound) {
        visit(task, [operation] { return operation->description; });
      }
    }
    return true;
  }

  // Twice as often after a poll that found something, a quarter less often after one that did not. So polling follows a burst
  // quickly and soon costs little while nothing comes.
  void adapt(std::size_t found) noexcept {
    const auto now = interval.load(std::memory_order_relaxed);
    const auto next = found > 0 ? now / 2 : now + now / 4 + 1;
    interval.store(std::clamp<std::int64_t>(next, rate.shortest.count(), rate.longest.count()),
                   std::memory_order_relaxed);
  }

  detail::RuntimeCore& core;  ///< Not after `runtime_ends`.
  const std::shared_ptr<tasking::SourceRegistry> registry;
  const std::string label;
  const PollingRate rate;
  const int descriptor;
  const std::function<std::size_t()> poll;
  base::Mutex mutex;  ///< Held while polling.
  bool closed GUARDED_BY(mutex) = false;
  std::atomic<std::thread::id> polled_by{};  ///< The thread that is in `poll`.
  std::atomic<std::int64_t> raw{
      0};  ///< Of `add_pending`. Below zero while something has been found that is yet to be added.
  std::atomic<std::size_t> expected{0};
  std::atomic<std::size_t> ended{0};  ///< Expected operations that have ended so far.
  std::atomic<bool> armed{false};
  std::atomic<bool> watching{false};
  std::atomic<std::int64_t> interval;
  mutable base::Mutex operations_mutex;
  /// Each leaves before it is gone.
  std::unordered_set<PendingOperation::State*> operations GUARDED_BY(operations_mutex);
  std::exception_ptr refusal GUARDED_BY(operations_mutex);  ///< Why nothing is expected any more.
};

PollingService::PollingService(Runtime& runtime, std::string label, PollingRate rate, std::function<std::size_t()> poll,
                               int descriptor) {
  if (rate.shortest.count() <= 0 || rate.longest < rate.shortest || !poll) {
    throw std::invalid_argument("polling service '" + label +
                                "': the rate needs 0 < shortest <= longest, and the function must not be empty");
  }
  state_ = std::make_shared<State>(runtime.core(), std::move(label), rate, std::move(poll), descriptor);
  state_->registry->add(state_.get());
}

PollingService::~PollingService() {
  state_->close();
  state_->fail_all(std::make_exception_ptr(
      std::logic_error("polling service '" + state_->label + "' ended while this was pending")));
  state_->registry->remove(state_.get());
}

PendingOperation PollingService::expect(std::string what) {
  PendingOperation operation;
  operation.state_ = std::make_shared<PendingOperation::State>(std::move(what), state_->label);
  State& state = *state_;
  {
    const base::LockGuard lock(state.operations_mutex);
    state.require_open();
    const base::LockGuard operation_lock(operation.state_->mutex);
    operation.state_->forget = [service = state_](PendingOperation::State& ended) { service->forget(ended); };
    state.operations.insert(operation.state_.get());
    state.expected.fetch_add(1, std::memory_order_seq_cst);
  }
  state.added();
  return operation;
}

void PollingService::add_pending(std::size_t count) {
  {
    const base::LockGuard lock(state_->operations_mutex);
    state_->require_open();
  }
  state_->raw.fetch_add(static_cast<std::int64_t>(count), std::memory_order_seq_cst);
  state_->added();
}

std::size_t PollingService::pending() const noexcept {
  return static_cast<std::size_t>(std::max(std::int64_t{0}, state_->raw.load(std::memory_order_acquire))) +
         state_->expected.load(std::memory_order_acquire);
}

std::chrono::nanoseconds PollingService::interval() const noexcept {
  return std::chrono::nanoseconds(state_->interval.load(std::memory_order_relaxed));
}

}  // namespace dovetail
