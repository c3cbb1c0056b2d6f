// The shared state of a pending operation: which task waits for it, and how it ended.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/mutex.hpp"
#include "dovetail/polling.hpp"
#include "tasking/pause.hpp"
#include "tasking/selection.hpp"

namespace dovetail {

struct [[gnu::visibility("hidden")]] PendingOperation::State : std::enable_shared_from_this<PendingOperation::State> {
  /// `source` is the label of the service that expects it.
  State(std::string expected, const std::string& source)
      : what(std::move(expected)), description(what + " (polling service '" + source + "')") {}
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  const std::string what;
  const std::string description;  ///< For reports.
  base::Mutex mutex;
  bool ended GUARDED_BY(mutex) = false;
  std::exception_ptr error GUARDED_BY(mutex);
  detail::Task* paused GUARDED_BY(mutex) = nullptr;                 ///< In `wait`.
  detail::Task* bound GUARDED_BY(mutex) = nullptr;                  ///< By `bind`.
  std::shared_ptr<tasking::Selection> selection GUARDED_BY(mutex);  ///< One that waits for this, among others.
  int number GUARDED_BY(mutex) = 0;                                 ///< Of this among them.
  /// Has the service forget the operation. Called once, outside of the lock, before the task goes on.
  std::function<void(State&)> forget GUARDED_BY(mutex);

  /// Whether a task or a selection waits for it.
  bool is_awaited() const noexcept REQUIRES(mutex) {
    return paused != nullptr || bound != nullptr || selection != nullptr;
  }
  /// Why it failed, or null. Once it has ended, no thread changes that any more: it is read without the lock.
  const std::exception_ptr& cause() const noexcept NO_THREAD_SAFETY_ANALYSIS { return error; }
  /// The caller holds a reference.
  void end(std::exception_ptr cause) noexcept EXCLUDES(mutex);
};

}  // namespace dovetail
