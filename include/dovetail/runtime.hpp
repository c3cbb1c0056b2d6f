/// @file
/// The runtime: its workers and the tasks that were spawned from outside of a task.
#pragma once

#include <memory>
#include <utility>

#include "dovetail/options.hpp"
#include "dovetail/parallel.hpp"
#include "dovetail/task.hpp"

namespace dovetail {

/// Owns workers, stacks and storage engines. Several runtimes may live in one process. All member functions may be
/// called from any thread; calls from inside one of its own tasks are allowed save for the destructor and `wait`.
class Runtime {
 public:
  /// Starts the workers.
  /// @throws std::invalid_argument for settings that make no sense, naming the field or variable;
  ///         std::system_error when a thread or a mapping cannot be made.
  explicit Runtime(const Options& options = {});
  /// Waits for all tasks, then stops. Failures that were not taken are printed to standard error.
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  /// Spawns a task that has no parent task (called from inside a task too). Accesses are ordered among all tasks so spawned,
  /// in the order of the calls. May block the caller (or suspend it, if it is a task) when far more tasks are pending than
  /// can be executed.
  template <class Body>
  auto spawn(const TaskDescription& description, Body&& body) {
    return spawn_in(core_.get(), &description, std::forward<Body>(body));
  }
  /// As above, for a task with no accesses and no label.
  template <class Body>
  auto spawn(Body&& body) {
    return spawn_in(core_.get(), nullptr, std::forward<Body>(body));
  }

  /// Runs `dovetail::parallel_for` with these arguments in a task and waits for it. An exception of a body comes as `TaskFailed`.
  template <class... Arguments>
  void parallel_for(const Arguments&... arguments) {
    detail::FarHalf<void>(spawn([&] { dovetail::parallel_for(arguments...); })).take();
  }
  /// As `parallel_for`, for `dovetail::parallel_reduce`.
  template <class... Arguments>
  auto parallel_reduce(const Arguments&... arguments) {
    auto result = spawn([&] { return dovetail::parallel_reduce(arguments...); });
    return detail::FarHalf(std::move(result)).take();
  }

  /// Blocks until all tasks have completed.
  /// @throws TaskFailed with the first failure that has not been taken (later ones stay for the next call); Stuck when tasks are left that
  ///         can never run; std::logic_error from inside a task.
  void wait();
  /// Cancels every task that has not started and asks the running ones to stop.
  void cancel() noexcept;
  /// Number of compute workers.
  unsigned workers() const noexcept;
  /// The settings in force, environment and defaults applied.
  const Options& options() const noexcept;
  /// For the layers of Dovetail that plug into the runtime.
  detail::RuntimeCore& core() noexcept { return *core_; }

 private:
  struct Delete {
    void operator()(detail::RuntimeCore* core) const noexcept;
  };
  std::unique_ptr<detail::RuntimeCore, Delete> core_;
};

}  // namespace dovetail
