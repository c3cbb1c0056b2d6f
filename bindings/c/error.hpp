// How C++ exceptions become negative errnos, and where the rest of the story is kept for the caller to ask for.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <system_error>
#include <type_traits>

#include "dovetail/detail/body.hpp"
#include "error_record.hpp"

namespace dovetail::c {

/// A failure that the program itself declared, by `dovetail_error_set`, `dovetail_events_fail` or the result of a body.
class ProgramError : public std::system_error {
 public:
  ProgramError(std::int32_t code, const std::string& message)
      : std::system_error(-code, std::generic_category(), message) {}
};

/// The failure that the program declares with a code and, perhaps, a text. @throws std::invalid_argument for a code that is no negative
/// errno.
std::exception_ptr failure_of(std::int32_t code, const char* message, const char* otherwise);

/// The smallest code that is a negative errno.
inline constexpr std::int32_t lowest_code = -4095;

/// What an exception means for a C caller.
Error describe(const std::exception_ptr& cause);
/// Makes `error` the last one of the calling task or thread and returns its code.
std::int32_t record(Error error) noexcept;
/// Describes the exception that is being handled, records it as an error of `function`, and returns its code.
std::int32_t record_current_exception(const char* function) noexcept;
/// The last error of the calling task or thread; null when there is none.
const Error* last_error() noexcept;
/// Forgets the last error of `task`; null: of the calling thread.
void forget_error(detail::Task* task) noexcept;

/// Runs `body`, which returns the result of a C function, and turns what it throws into a negative errno.
template <class Body>
auto guarded(const char* function, Body&& body) noexcept -> std::invoke_result_t<Body&> {
  try {
    return body();
  } catch (...) {
    return record_current_exception(function);
  }
}

}  // namespace dovetail::c
