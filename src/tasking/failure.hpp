// Why a task did not do what it should. One object per task that failed or was cancelled, shared by all that report it.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <string>

#include "dovetail/detail/body.hpp"

namespace dovetail::tasking {

using detail::Task;

class Failure {
 public:
  /// The body threw, or an event failed. `is_cancelled`: of the task, so that operations are given up.
  static Failure* of_task(const Task& task, std::exception_ptr cause, bool is_cancelled);
  /// A predecessor failed; `origin` is its failure, or null when the program cancelled the task.
  static Failure* of_cancelled(const Task& task, Failure* origin);

  void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept;

  /// Marks it, and the failure it stems from, as reported. Returns false if it was marked already.
  bool take() noexcept;
  bool taken() const noexcept;
  /// As `take`, where the program asks for this very task.
  void tell() noexcept;
  /// Whether it has.
  bool told() const noexcept { return told_.load(std::memory_order_relaxed); }
  bool cancelled() const noexcept { return cancelled_; }
  /// Whether it began with a task that was told that it can never go on.
  bool stems_from_stuck() const noexcept;
  /// The failure that all of this began with; itself if it is that.
  Failure& origin() noexcept { return origin_ != nullptr ? *origin_ : *this; }
  /// Throws it as `TaskFailed`.
  [[noreturn]] void raise() const;
  /// One line.
  std::string describe() const;
  /// The same without the label: why it failed, or why it was cancelled.
  std::string reason() const;

 private:
  Failure(std::string label, std::exception_ptr cause, Failure* origin, bool cancelled);
  ~Failure();

  std::atomic<std::uint32_t> references_{1};
  std::atomic<bool> taken_{false};
  std::atomic<bool> told_{false};
  const bool cancelled_;
  std::string label_;
  std::exception_ptr cause_;
  Failure* origin_;
};

/// One line about an exception, its nested causes included.
std::string describe_exception(const std::exception_ptr& cause);

/// Keeps the failure if it is the first of the task, else drops it. Takes over the reference.
void set_failure(Task* task, Failure* failure) noexcept;

}  // namespace dovetail::tasking
