#include "tasking/pending_operation.hpp"

#include <stdexcept>

namespace dovetail {
namespace {

void require(bool operation, detail::Task* task, const char* call) {
  if (!operation) {
    throw std::logic_error(std::string("PendingOperation::") + call + ": this is no operation");
  }
  if (task == nullptr) {
    throw std::logic_error(std::string("PendingOperation::") + call + " was called outside of a task");
  }
}

[[noreturn]] void refuse_second(const std::string& what) {
  throw std::logic_error("a task waits for " + what + " already; a pending operation is for one task");
}

}  // namespace

// No handle is left that could end it.
PendingOperation::State::~State() {
  if (!ended) {
    end(std::make_exception_ptr(
        std::logic_error("the last PendingOperation of " + what + " was dropped before it ended")));
  }
}

void PendingOperation::State::end(std::exception_ptr cause) noexcept {
  detail::Task* to_wake = nullptr;
  detail::Task* to_fulfill = nullptr;
  std::shared_ptr<tasking::Selection> selecting;
  int number_there = 0;
  std::function<void(State&)> forgotten;
  {
    const base::LockGuard lock(mutex);
    if (std::exchange(ended, true)) {
      return;
    }
    error = std::move(cause);
    to_wake = std::exchange(paused, nullptr);
    to_fulfill = std::exchange(bound, nullptr);
    selecting = std::exchange(selection, nullptr);
    number_there = number;
    forgotten = std::exchange(forget, nullptr);
  }
  if (forgotten) {
    forgotten(*this);
  }
  if (to_wake != nullptr) {
    tasking::wake(to_wake);
  }
  if (to_fulfill != nullptr) {
    tasking::fulfill_event(to_fulfill, this->cause());
  }
  if (selecting != nullptr) {
    selecting->end(number_there);
  }
}

void PendingOperation::wait() {
  detail::Task* const task = tasking::current_task();
  require(state_ != nullptr, task, "wait");
  const std::shared_ptr<State> state = state_;  // the handle may be gone when the task goes on
  bool ended = false;
  {
    const base::LockGuard lock(state->mutex);
    if (state->is_awaited()) {
      refuse_second(state->what);
    }
    ended = state->ended;
    if (!ended) {
      tasking::prepare_pause(task);
      state->paused = task;
    }
  }
  if (!ended) {
    tasking::pause(task, tasking::WaitReason::operation);
  }
  if (state->cause()) {
    std::rethrow_exception(state->cause());
  }
}

void PendingOperation::bind() {
  require(state_ != nullptr, tasking::task_that_binds(), "bind");
  detail::Task* const task = tasking::bind_event();
  {
    const base::LockGuard lock(state_->mutex);
    if (!state_->ended) {
      if (!state_->is_awaited()) {
        state_->bound = task;
        return;
      }
      tasking::fulfill_event(task);
      refuse_second(state_->what);
    }
  }
  tasking::fulfill_event(task, state_->cause());
}

void PendingOperation::complete() noexcept {
  if (const std::shared_ptr<State> state = state_) {  // the task that goes on may drop this handle
    state->end(nullptr);
  }
}

void PendingOperation::fail(std::exception_ptr cause) noexcept {
  if (const std::shared_ptr<State> state = state_) {
    state->end(cause ? std::move(cause) : std::make_exception_ptr(std::runtime_error(state->what + " failed")));
  }
}

}  // namespace dovetail
