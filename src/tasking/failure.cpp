#include "tasking/failure.hpp"

#include "dovetail/failure.hpp"

#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include "tasking/label.hpp"
#include "tasking/task.hpp"

namespace dovetail {

namespace {

// A `std::nested_exception` takes what is being handled while it is made; had that been nothing, `std::rethrow_if_nested`
// would end the program.
std::nested_exception nest(const std::exception_ptr& cause) {
  try {
    if (cause) {
      std::rethrow_exception(cause);
    }
    throw std::system_error(ECANCELED, std::generic_category(), "cancelled by the program");
  } catch (...) {
    return {};
  }
}

}  // namespace

TaskFailed::TaskFailed(std::string label, const std::string& reason, std::exception_ptr cause, bool cancelled)
    : std::runtime_error(reason),
      std::nested_exception(nest(cause)),
      label_(std::move(label)),
      cause_(std::move(cause)),
      cancelled_(cancelled) {}

namespace {

std::string io_message(const std::string& operation, const std::string& path, std::uint64_t offset,
                       std::uint64_t length) {
  std::string text = operation + " of '" + path + "'";
  if (length > 0) {
    text += " at offset " + std::to_string(offset) + " (" + std::to_string(length) + " bytes)";
  }
  return text;
}

}  // namespace

IoError::IoError(int error_number, std::string operation, std::string path, std::uint64_t offset, std::uint64_t length)
    : std::system_error(error_number, std::system_category(), io_message(operation, path, offset, length)),
      operation_(std::move(operation)),
      path_(std::move(path)),
      offset_(offset),
      length_(length) {}

namespace tasking {

// A pointer to an exception is kept here, not thrown.
// NOLINTBEGIN(bugprone-throw-keyword-missing)
Failure::Failure(std::string label, std::exception_ptr cause, Failure* origin, bool cancelled)
    : cancelled_(cancelled), label_(std::move(label)), cause_(std::move(cause)), origin_(origin) {
  if (origin_ != nullptr) {
    origin_->retain();
  }
}
// NOLINTEND(bugprone-throw-keyword-missing)

Failure::~Failure() {
  if (origin_ != nullptr) {
    origin_->release();
  }
}

namespace {
// An operation that was given up because the task was cancelled: then that is what happened to the task.
bool is_given_up(const std::exception_ptr& cause) {
  try {
    std::rethrow_exception(cause);
  } catch (const IoError& error) {
    return error.code().value() == ECANCELED;
  } catch (...) {
    return false;
  }
}
}  // namespace

Failure* Failure::of_task(const Task& task, std::exception_ptr cause, bool is_cancelled) {
  const bool cancelled = is_cancelled && is_given_up(cause);
  return new Failure(std::string(task.label->text), std::move(cause), nullptr, cancelled);
}

Failure* Failure::of_cancelled(const Task& task, Failure* origin) {
  std::exception_ptr cause;
  if (origin != nullptr) {
    try {
      origin->origin().raise();
    } catch (...) {
      cause = std::current_exception();
    }
  }
  return new Failure(std::string(task.label->text), std::move(cause), origin != nullptr ? &origin->origin() : nullptr,
                     true);
}

void Failure::release() noexcept {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    delete this;
  }
}

bool Failure::take() noexcept {
  if (origin_ != nullptr) {
    origin_->take();
  }
  return !taken_.exchange(true, std::memory_order_relaxed);
}

void Failure::tell() noexcept {
  take();
  told_.store(true, std::memory_order_relaxed);
}

bool Failure::taken() const noexcept { return taken_.load(std::memory_order_relaxed); }

std::string Failure::describe() const { return "task '" + label_ + (cancelled_ ? "' was " : "' failed: ") + reason(); }

std::string Failure::reason() const {
  if (!cancelled_) {
    return describe_exception(cause_);
  }
  return cause_ ? "cancelled because " + describe_exception(cause_) : "cancelled by the program";
}

bool Failure::stems_from_stuck() const noexcept {
  std::exception_ptr cause = origin_ != nullptr ? origin_->cause_ : cause_;
  while (cause) {
    try {
      std::rethrow_exception(std::exchange(cause, nullptr));
    } catch (const Stuck&) {
      return true;
    } catch (const std::exception& exception) {
      try {
        std::rethrow_if_nested(exception);
      } catch (...) {
        cause = std::current_exception();
      }
    } catch (...) {
      return false;
    }
  }
  return false;
}

void Failure::raise() const { throw TaskFailed(label_, describe(), cause_, cancelled_); }

std::string describe_exception(const std::exception_ptr& cause) {
  if (!cause) {
    return "no cause given";
  }
  std::string text;
  try {
    std::rethrow_exception(cause);
  } catch (const TaskFailed& failed) {
    return failed.what();  // tells its own cause
  } catch (const std::exception& exception) {
    text = exception.what();
    try {
      std::rethrow_if_nested(exception);
    } catch (...) {
      text += ": " + describe_exception(std::current_exception());
    }
  } catch (...) {
    text = "an exception that is not a std::exception";
  }
  return text;
}

void set_failure(Task* task, Failure* failure) noexcept {
  Failure* none = nullptr;
  // Release: a thread that finds the failure reads the object.
  if (!task->failure.compare_exchange_strong(none, failure, std::memory_order_acq_rel)) {
    failure->release();
  }
}

}  // namespace tasking
}  // namespace dovetail
