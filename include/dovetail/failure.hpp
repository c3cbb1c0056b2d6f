/// @file
/// What a failing task does to others and what the program is told. Nothing that fails is lost silently. A failure that no `Future::get` or
/// `wait` takes passes to the parent task, then to `Runtime::wait`. At the end of the runtime it is printed to standard error.
#pragma once

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <system_error>

namespace dovetail {

/// What happens when the body of a task throws or an operation bound to it fails.
struct FailurePolicy {
  /// The kinds of policy.
  enum class Action : std::uint8_t {
    /// Tasks that read what the failed one should have written do not run. They fail with its failure as their cause, and so do tasks that
    /// read what they should have written. A task that only writes (`out`) runs and makes the data good again.
    cancel_successors,
    ignore,  ///< Successors run as if nothing had happened; the failure is still told by `Future::get`.
  };
  Action action = Action::cancel_successors;  ///< What follows when no attempt is left.
  unsigned retries = 0;                       ///< How many times the body is run again before that.
};

/// Successors of a failed task are cancelled (the default).
inline constexpr FailurePolicy cancel_successors{};
/// Successors of a failed task run all the same, and `wait` does not report it.
inline constexpr FailurePolicy ignore_failure{FailurePolicy::Action::ignore, 0};
/// The body is run again up to `times` times; then successors are cancelled.
constexpr FailurePolicy retry(unsigned times) { return {FailurePolicy::Action::cancel_successors, times}; }

/// A task failed. The cause is nested: `std::rethrow_if_nested`, or `cause()`.
class TaskFailed : public std::runtime_error, public std::nested_exception {
 public:
  /// `cause` may be null for a task that was cancelled by the program.
  TaskFailed(std::string label, const std::string& reason, std::exception_ptr cause, bool cancelled);
  /// Label of the task that failed.
  const std::string& label() const noexcept { return label_; }
  /// What the body threw, or the failure of the predecessor that made this task be cancelled.
  std::exception_ptr cause() const noexcept { return cause_; }
  /// Whether the task never ran: a predecessor failed, or the program cancelled it.
  bool cancelled() const noexcept { return cancelled_; }
  /// As `std::nested_exception::nested_ptr`; both are the cause.
  std::exception_ptr nested_ptr() const noexcept { return cause_; }

 private:
  std::string label_;
  std::exception_ptr cause_;
  bool cancelled_;
};

/// An operation on a file failed. `code()` is the errno.
class IoError : public std::system_error {
 public:
  /// `operation` is the name of the call, such as "pwrite".
  IoError(int error_number, std::string operation, std::string path, std::uint64_t offset, std::uint64_t length);
  const std::string& operation() const noexcept { return operation_; }  ///< Name of the call.
  const std::string& path() const noexcept { return path_; }            ///< The file, or "descriptor N".
  std::uint64_t offset() const noexcept { return offset_; }             ///< First byte that was not transferred.
  std::uint64_t length() const noexcept { return length_; }             ///< Bytes that were not transferred.

 private:
  std::string operation_;
  std::string path_;
  std::uint64_t offset_;
  std::uint64_t length_;
};

/// Tasks are left that can never run. `what()` lists which task waits for what.
class Stuck : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace dovetail
