#include "future.hpp"

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <cstdint>
#include <functional>

#include "failure.hpp"
#include "tasking/failure.hpp"
#include "tasking/task.hpp"
#include "thread_state.hpp"

namespace dovetail::python {

// Tells an event loop, which has no thread to spare for waiting.
bool Future::notify(int descriptor) const {
  if (done()) {
    return false;
  }
  std::function<void()> tell = [descriptor] {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(descriptor, &one, sizeof(one));
  };
  return detail::call_when_completed(task_, tell);
}

// The task completes later, and its failure then counts as noticed.
void Future::throw_cancelled() const {
  when_completed([kept = FutureBase(*this), task = task_] {
    try {
      detail::take_task(task);
    } catch (const TaskFailed&) {
      return;
    }
  });
  throw TaskFailed(call_->signature->label, "task '" + call_->signature->label + "' was cancelled by the program",
                   nullptr, true);
}

void Future::finish(const Deadline& deadline) const {
  if (!finish_quietly(deadline)) {
    throw TimedOut("task '" + call_->signature->label + "'");
  }
  if (call_->stage.load() == Stage::cancelled) {
    throw_cancelled();
  }
  if (call_->signature->standalone) {
    try {
      detail::take_task(task_);
    } catch (const TaskFailed& failure) {
      if (only_cancelled(failure)) {
        throw;
      }
      rethrow_root_cause(failure);
    }
    return;
  }
  detail::take_task(task_);
}

bool Future::finish_quietly(const Deadline& deadline) const {
  if (done()) {
    return true;
  }
  const Unlocked unlocked;
  if (!deadline.never()) {
    return wait_for(deadline.left());
  }
  wait();
  return true;
}

bool Future::failed() const noexcept {
  return ready() ? task_->failure.load(std::memory_order_acquire) != nullptr : done();
}

bool Future::cancelled() const {
  if (call_->stage.load() == Stage::cancelled) {
    return true;
  }
  if (!ready()) {
    return false;
  }
  tasking::Failure* const failure = task_->failure.load(std::memory_order_acquire);
  return failure != nullptr && failure->cancelled() && failure->origin().cancelled();
}

bool Future::try_cancel() const {
  if (ready()) {
    return cancelled();
  }
  const bool kept = call_->cancel();
  FutureBase::cancel();
  if (kept && call_->callbacks != nullptr) {
    call_->callbacks->call();
  }
  return kept;
}

Held Future::value() const {
  if (!key_) {
    return Held::share(call_->result.get());
  }
  Held item = Held::adopt(PyObject_GetItem(call_->result.get(), key_.get()));
  if (!item) {
    throw_python_error();
  }
  return item;
}

}  // namespace dovetail::python
