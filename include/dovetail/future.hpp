/// @file
/// The handle of a spawned task and of its result.
#pragma once

#include <chrono>
#include <coroutine>
#include <functional>
#include <type_traits>
#include <utility>

#include "dovetail/detail/body.hpp"

namespace dovetail {
namespace detail {
class Selecting;
}

/// What all futures can do. Copyable: copies stand for the same task. Dropping a future does not wait; the task goes on.
/// Different threads may use different copies; one object needs outside ordering, as a `std::shared_ptr` does.
class FutureBase {
 public:
  FutureBase() noexcept = default;
  FutureBase(const FutureBase& other) noexcept : task_(other.task_) {
    if (task_ != nullptr) {
      detail::retain(task_);
    }
  }
  FutureBase(FutureBase&& other) noexcept : task_(std::exchange(other.task_, nullptr)) {}
  FutureBase& operator=(FutureBase other) noexcept {
    std::swap(task_, other.task_);
    return *this;
  }
  ~FutureBase() {
    if (task_ != nullptr) {
      detail::release(task_);
    }
  }

  /// Whether there is a task at all; a default-constructed or moved-from future has none.
  bool valid() const noexcept { return task_ != nullptr; }
  /// Whether the task has completed (or failed, or was cancelled). Never suspends.
  bool ready() const noexcept { return detail::task_ready(task_); }
  /// Returns when the task has completed, failed or not. Suspends a task, blocks another thread. A suspended task may
  /// resume on another thread unless it is `.tied`.
  /// @throws Stuck when the task can never complete; std::logic_error without a task.
  void wait() const { detail::wait_task(task_); }
  /// As `wait`, for `at_most` so long. @returns Whether the task has completed. @throws As `wait`.
  bool wait_for(std::chrono::nanoseconds at_most) const;
  /// Calls `callback` once, when the task has completed, failed or not. The thread that completes it does so, or at once the caller if it
  /// has completed. Those that are there by then are called in the order of these calls. `Runtime::wait` returns after them. A callback
  /// must be short and must not wait for anything; it may fulfill events, resume tasks, and spawn by `Runtime::spawn`. An exception that
  /// it throws ends the program.
  /// @throws std::logic_error without a task; std::bad_alloc.
  void when_completed(std::function<void()> callback) const {
    if (!detail::call_when_completed(task_, callback)) {
      callback();
    }
  }
  /// Asks that the task does not run. A task that has not started is cancelled with its successors; one that runs
  /// sees `this_task::cancelled()`. Never suspends, callable from any thread.
  void cancel() const noexcept { detail::cancel_task(task_); }

 protected:
  friend class detail::Selecting;
  /// For the library: takes over one reference to the task.
  explicit FutureBase(detail::Task* adopted) noexcept : task_(adopted) {}
  detail::Task* task_ = nullptr;  ///< The task, or null when there is none; holds one reference.
};

/// The future result of a task.
template <class T>
class Future : public FutureBase {
 public:
  Future() noexcept = default;
  /// Waits as `wait` and gives the result: a copy, or where `T` cannot be copied the result itself (then only once).
  /// @throws TaskFailed when the task failed or was cancelled; Stuck as `wait`.
  T get() const& {
    detail::take_task(task_);
    if constexpr (std::is_reference_v<T> || std::is_copy_constructible_v<T>) {
      return *place().result;
    } else if constexpr (!std::is_void_v<T>) {
      return std::move(*place().result);
    }
  }
  /// As `get` of an lvalue: others may hold the same future.
  T get() && { return static_cast<const Future&>(*this).get(); }

  /// What `co_await` of a future does: gives the result as `get`. The coroutine goes on in a task of its own, in the runtime of the task
  /// that it awaits. So that runtime must live until then. `Runtime::wait` waits for what the coroutine does until it suspends again.
  /// `Runtime::cancel` drops that task, as any that has not begun: a coroutine that was about to go on never does.
  class Awaiter {
   public:
    /// Keeps a share of the future.
    explicit Awaiter(const Future& future) : future_(future) {}
    /// Whether the task has completed: then the coroutine goes on at once.
    bool await_ready() const { return future_.ready(); }
    /// Lets the coroutine be resumed once the task has completed. False: it has.
    bool await_suspend(std::coroutine_handle<> coroutine) const {
      return detail::resume_when_completed(future_.task_, coroutine.address());
    }
    /// The result, as `get`. @throws As `get`.
    T await_resume() const { return future_.get(); }

   private:
    const Future future_;
  };
  /// Awaits the task in a coroutine. See `Awaiter`.
  Awaiter operator co_await() const { return Awaiter(*this); }

 private:
  friend class Runtime;
  template <class Body>
  friend auto spawn_in(detail::RuntimeCore*, const TaskDescription*, Body&&, detail::Task*&);
  explicit Future(detail::Task* adopted) noexcept : FutureBase(adopted) {}
  detail::ResultPlace<T>& place() const { return *static_cast<detail::ResultPlace<T>*>(detail::frame_of(task_)); }
};

}  // namespace dovetail
