// The shared state of a pending operation: who waits for it, and how it ended.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

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
  std::mutex mutex;
  // The rest is guarded by `mutex`.
  bool ended = false;
  std::exception_ptr error;
  detail::Task* paused = nullptr;                 ///< In `wait`.
  detail::Task* bound = nullptr;                  ///< By `bind`.
  std::shared_ptr<tasking::Selection> selection;  ///< One that waits for this, among others.
  int number = 0;                                 ///< Of this among them.
  /// Has the service forget the operation. Called once, outside of the lock, before the task goes on.
  std::function<void(State&)> forget;

  /// Whether anybody waits for it.
  bool is_awaited() const noexcept { return paused != nullptr || bound != nullptr || selection != nullptr; }
  /// The caller holds a reference.
  void end(std::exception_ptr cause) noexcept;
};

}  // namespace dovetail
