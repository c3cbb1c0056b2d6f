// What a room implements to learn early what tasks will access: the graph knows it before the tasks can begin. The scheduler knows nothing
// of what is done with it.
#pragma once

#include <memory>

#include "dovetail/access.hpp"
#include "dovetail/detail/body.hpp"

namespace dovetail::tasking {

/// The accesses of one task, for its observer. Destroyed when the task has completed, before its successors may begin; on any thread.
class ObservedTask {
 public:
  virtual ~ObservedTask() = default;
  /// The body is about to be entered. Called again for each retry, and not at all for a task that must not run.
  virtual void begins() noexcept = 0;
};

/// Of one runtime, and lives as long.
class AccessObserver {
 public:
  virtual ~AccessObserver() = default;
  /// A task with these accesses, not all of them to memory, is being spawned. Called before they are entered into the graph, so that tasks of one spawner come in the
  /// order of their spawns; from any thread that spawns. Null: it is of no interest.
  virtual std::unique_ptr<ObservedTask> spawned(const AccessList& accesses) noexcept = 0;
};

/// Makes the observer of a runtime that starts; null: it has none, and its tasks pay nothing. May throw std::invalid_argument.
using AccessObserverFactory = std::unique_ptr<AccessObserver> (*)(detail::RuntimeCore& core);
/// At most one. Called from a static initialiser of the room that implements it.
bool register_access_observer(AccessObserverFactory factory) noexcept;
/// For a runtime that starts.
std::unique_ptr<AccessObserver> make_access_observer(detail::RuntimeCore& core);

}  // namespace dovetail::tasking
