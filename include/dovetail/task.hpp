/// @file
/// What is said about a task when it is spawned, and spawning, waiting from inside a task.
#pragma once

#include <functional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "dovetail/access.hpp"
#include "dovetail/detail/body.hpp"
#include "dovetail/failure.hpp"
#include "dovetail/future.hpp"
#include "dovetail/storage_bandwidth.hpp"

namespace dovetail {

namespace detail {
/// The value of a member that has not been set: nothing, zero, false. It is not a constant for the compiler. GCC clears a description that
/// holds any constant as a whole, with the places for accesses that are not used. That takes a seventh of the time of a small task.
template <class T>
T unset() noexcept {
  return T{};
}
}  // namespace detail

/// Describes a task. Meant to be written in place with designated initialisers; everything is copied by `spawn`.
struct TaskDescription {
  /// Shown in errors, traces and reports.
  std::string_view label = detail::unset<std::string_view>();
  /// The regions that the body (and its children) uses. Order among accesses means nothing.
  AccessList access = detail::unset<AccessList>();
  /// Ready tasks of higher priority start first; 0 is ordinary. A hint, not a guarantee.
  int priority = detail::unset<int>();
  /// The body may block in the operating system: it runs on an I/O executor and takes no compute worker.
  bool io = detail::unset<bool>();
  /// Called once, after the accesses are free and before the body may start. Runs outside of any task and must not
  /// suspend; `this_task::events()` in it delays the body (TAGASPI, docs/papers.md, section V-A).
  std::function<void()> onready = detail::unset<std::function<void()>>();
  /// What a failure does.
  FailurePolicy on_failure = detail::unset<FailurePolicy>();
  /// After a pause the task goes on where it was, on the same operating-system thread.
  bool tied = detail::unset<bool>();
  /// It starts when its device has room for it. A task with `io` then has a thread to itself. An ordinary one runs on a worker, and should
  /// use a `File`, for which it pauses. All tasks of one label are a type, from which the learner learns.
  StorageBandwidth storage_bw = detail::unset<StorageBandwidth>();
  /// Name of its device, or a path on it (docs/admission.md). Empty: the first configured device, or else that of the current folder; with
  /// no constraint either, the task has nothing to do with admission.
  std::string_view device = detail::unset<std::string_view>();
};

/// Shared by all forms of spawn; use those. `crowded` receives the task for which the caller should `detail::make_way`, if it
/// should.
template <class Body>
auto spawn_in(detail::RuntimeCore* core, const TaskDescription* description, Body&& body, detail::Task*& crowded) {
  using Plain = std::decay_t<Body>;
  if constexpr (alignof(Plain) > detail::frame_alignment) {
    using Aligned = detail::AlignedBody<Plain>;
    return spawn_in(core, description, Aligned{std::make_unique<Plain>(std::forward<Body>(body))}, crowded);
  } else {
    using Result = std::invoke_result_t<Plain&>;
    if constexpr (!std::is_void_v<Result> && !std::is_reference_v<Result>) {
      static_assert(alignof(Result) <= detail::frame_alignment,
                    "a result with more than 16 bytes of alignment must be returned through a pointer");
    }
    using Frame = detail::Frame<Plain, Result>;
    const detail::Created created = detail::create_task(core, Frame::operations, sizeof(Frame), description);
    if constexpr (std::is_nothrow_constructible_v<Plain, Body>) {
      new (created.frame) Frame(std::forward<Body>(body));
    } else {
      try {
        new (created.frame) Frame(std::forward<Body>(body));
      } catch (...) {
        detail::abandon_task(created.task);
        throw;
      }
    }
    Future<Result> future(created.task);
    if (detail::submit_task(created.task, description)) [[unlikely]] {
      crowded = created.task;
    }
    return future;
  }
}
/// As above, and makes way for the tasks that are pending.
template <class Body>
auto spawn_in(detail::RuntimeCore* core, const TaskDescription* description, Body&& body) {
  detail::Task* crowded = nullptr;
  auto future = spawn_in(core, description, std::forward<Body>(body), crowded);
  if (crowded != nullptr) [[unlikely]] {
    detail::make_way(crowded);
  }
  return future;
}

/// Spawns a child of the current task. The child's accesses are ordered among those of its siblings.
/// May suspend the caller when far more tasks are pending than can be executed.
/// @throws std::logic_error outside of a task; std::bad_alloc.
template <class Body>
auto spawn(const TaskDescription& description, Body&& body) {
  return spawn_in(nullptr, &description, std::forward<Body>(body));
}
/// As above, for a task with no accesses and no label.
template <class Body>
auto spawn(Body&& body) {
  return spawn_in(nullptr, nullptr, std::forward<Body>(body));
}

/// Waits until all children of the current task have completed. Runs ready children first and suspends when there is
/// nothing of its own to run.
/// @throws TaskFailed with the first failure of a child that has not been taken; std::logic_error outside of a task.
void wait();

}  // namespace dovetail
