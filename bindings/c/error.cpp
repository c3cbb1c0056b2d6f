#include "error.hpp"

#include <cerrno>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "dovetail/dovetail.h"
#include "dovetail/failure.hpp"
#include "dovetail/mpi_error.hpp"
#include "dovetail/rma_error.hpp"
#include "dovetail/this_task.hpp"
#include "error_table.hpp"
#include "tasking/pause.hpp"

namespace dovetail::c {
namespace {

ErrorTable& table() {
  // Never destroyed: tasks may still end while the process exits.
  static ErrorTable* const errors = new ErrorTable;
  return *errors;
}

// A function of its own that is never inlined: a caller that suspends must not keep the address of the thread it left.
[[gnu::noinline]] Error& error_of_thread() {
  asm volatile("");  // or calls might be merged
  // On the heap: what a library keeps for each thread comes out of a small reserve that all libraries share.
  thread_local const auto error = std::make_unique<Error>();
  return *error;
}

void describe_into(Error& error, const std::exception_ptr& cause);

void take(Error& error, std::int32_t code, std::int32_t kind, std::string_view message) {
  if (error.code == 0) {
    error.code = code;
  }
  if (error.kind == DOVETAIL_ERROR_NONE) {
    error.kind = kind;
  }
  if (error.message.empty()) {
    error.message = message;
  }
}

void describe_task(Error& error, const TaskFailed& failure) {
  if (error.label.empty()) {
    error.label = failure.label();
  }
  if (failure.cancelled()) {
    take(error, -ECANCELED, DOVETAIL_ERROR_CANCELLED, failure.what());
  } else {
    take(error, 0, DOVETAIL_ERROR_TASK, failure.what());
  }
  if (failure.cause() != nullptr) {
    describe_into(error, failure.cause());
  }
  take(error, -ENOTRECOVERABLE, DOVETAIL_ERROR_TASK, failure.what());
}

void describe_io(Error& error, const IoError& failure) {
  if (error.path.empty()) {
    error.operation = failure.operation();
    error.path = failure.path();
    error.offset = static_cast<std::int64_t>(failure.offset());
    error.length = static_cast<std::int64_t>(failure.length());
  }
  take(error, -failure.code().value(), DOVETAIL_ERROR_IO, failure.what());
}

void describe_mpi(Error& error, const mpi::Error& failure) {
  if (error.mpi_code == 0) {
    error.mpi_code = failure.code();
    error.operation = failure.call();
  }
  take(error, -EIO, DOVETAIL_ERROR_MPI, failure.what());
}

void describe_peer(Error& error, const rma::Error& failure) {
  if (error.rank < 0) {
    error.rank = failure.rank();
  }
  take(error, -ECONNRESET, DOVETAIL_ERROR_PEER, failure.what());
}

std::int32_t code_of(const std::error_code& code) {
  const bool is_errno = code.category() == std::generic_category() || code.category() == std::system_category();
  return is_errno && code.value() > 0 ? -code.value() : -ENOTRECOVERABLE;
}

// From the outermost exception inwards: the first that knows something says it, the inner ones add what is missing.
void describe_into(Error& error, const std::exception_ptr& cause) {
  try {
    std::rethrow_exception(cause);
  } catch (const TaskFailed& failure) {
    describe_task(error, failure);
  } catch (const IoError& failure) {
    describe_io(error, failure);
  } catch (const mpi::Error& failure) {
    describe_mpi(error, failure);
  } catch (const rma::Error& failure) {
    describe_peer(error, failure);
  } catch (const Stuck& stuck) {
    take(error, -EDEADLK, DOVETAIL_ERROR_STUCK, stuck.what());
  } catch (const ProgramError& failure) {
    take(error, -failure.code().value(), DOVETAIL_ERROR_PROGRAM, failure.what());
  } catch (const std::system_error& failure) {
    take(error, code_of(failure.code()), DOVETAIL_ERROR_SYSTEM, failure.what());
  } catch (const std::bad_alloc&) {
    take(error, -ENOMEM, DOVETAIL_ERROR_MEMORY, "out of memory");
  } catch (const std::invalid_argument& failure) {
    take(error, -EINVAL, DOVETAIL_ERROR_ARGUMENT, failure.what());
  } catch (const std::out_of_range& failure) {
    take(error, -EINVAL, DOVETAIL_ERROR_ARGUMENT, failure.what());
  } catch (const std::length_error& failure) {
    take(error, -EINVAL, DOVETAIL_ERROR_ARGUMENT, failure.what());
  } catch (const std::logic_error& failure) {
    take(error, -EPERM, DOVETAIL_ERROR_CONTEXT, failure.what());
  } catch (const std::exception& failure) {
    take(error, -ENOTRECOVERABLE, DOVETAIL_ERROR_OTHER, failure.what());
  } catch (...) {
    take(error, -ENOTRECOVERABLE, DOVETAIL_ERROR_OTHER, "an exception that is not a std::exception");
  }
}

}  // namespace

Error describe(const std::exception_ptr& cause) {
  Error error;
  describe_into(error, cause);
  error.cause = cause;
  return error;
}

std::int32_t record(Error error) noexcept {
  const std::int32_t code = error.code;
  try {
    detail::Task* const task = tasking::current_task();
    (task != nullptr ? table().place(task) : error_of_thread()) = std::move(error);
  } catch (...) {
    return code;  // no memory left to keep the story in; the code still tells what happened
  }
  return code;
}

std::int32_t record_current_exception(const char* function) noexcept {
  try {
    Error error = describe(std::current_exception());
    if (error.kind == DOVETAIL_ERROR_ARGUMENT || error.kind == DOVETAIL_ERROR_CONTEXT) {
      error.message.insert(0, std::string(function) + ": ");
    }
    if (error.label.empty()) {
      error.label = this_task::label();
      if (!error.label.empty()) {
        error.message.insert(0, "task '" + error.label + "': ");
      }
    }
    return record(std::move(error));
  } catch (...) {
    return -ENOMEM;
  }
}

std::exception_ptr failure_of(std::int32_t code, const char* message, const char* otherwise) {
  if (code >= 0 || code < lowest_code) {
    throw std::invalid_argument("'code' is " + std::to_string(code) + "; it must be a negative errno");
  }
  return std::make_exception_ptr(ProgramError(code, message != nullptr ? message : otherwise));
}

const Error* last_error() noexcept {
  detail::Task* const task = tasking::current_task();
  const Error* const error = task != nullptr ? table().find(task) : &error_of_thread();
  return error != nullptr && error->code != 0 ? error : nullptr;
}

void forget_error(detail::Task* task) noexcept {
  if (task != nullptr) {
    table().erase(task);
  } else {
    error_of_thread() = Error{};
  }
}

}  // namespace dovetail::c

using dovetail::c::Error;
using dovetail::c::last_error;

namespace {

const char* text(std::string Error::* field) {
  const Error* const error = last_error();
  return error != nullptr ? (error->*field).c_str() : "";
}

}  // namespace

extern "C" {

int32_t dovetail_error_code(void) {
  const Error* const error = last_error();
  return error != nullptr ? error->code : 0;
}

int32_t dovetail_error_mpi_code(void) {
  const Error* const error = last_error();
  return error != nullptr ? error->mpi_code : 0;
}

int32_t dovetail_error_rank(void) {
  const Error* const error = last_error();
  return error != nullptr ? error->rank : -1;
}

int32_t dovetail_error_kind(void) {
  const Error* const error = last_error();
  return error != nullptr ? error->kind : DOVETAIL_ERROR_NONE;
}

const char* dovetail_error_message(void) { return text(&Error::message); }
const char* dovetail_error_label(void) { return text(&Error::label); }
const char* dovetail_error_operation(void) { return text(&Error::operation); }
const char* dovetail_error_path(void) { return text(&Error::path); }

int64_t dovetail_error_offset(void) {
  const Error* const error = last_error();
  return error != nullptr ? error->offset : -1;
}

int64_t dovetail_error_length(void) {
  const Error* const error = last_error();
  return error != nullptr ? error->length : -1;
}

int32_t dovetail_error_set(int32_t code, const char* message) {
  return dovetail::c::guarded(__func__, [&]() -> int32_t {
    if (code >= 0 || code < dovetail::c::lowest_code) {
      throw std::invalid_argument("the code " + std::to_string(code) + " is not a negative errno");
    }
    throw dovetail::c::ProgramError(code, message != nullptr ? message : "the program reported an error");
  });
}

void dovetail_error_clear(void) { dovetail::c::forget_error(dovetail::tasking::current_task()); }

}  // extern "C"
