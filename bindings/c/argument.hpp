// Checking what a C caller passes, and the C++ objects behind the opaque ones.
#pragma once

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <system_error>

#include "dovetail/dovetail.h"
#include "dovetail/file.hpp"
#include "dovetail/polling.hpp"
#include "dovetail/runtime.hpp"
#include "dovetail/space.hpp"
#include "dovetail/this_task.hpp"

// A runtime, a space and a file are what the C++ classes of those names are. A future is the task itself (one reference to
// it), and events are those of the task. Neither needs an object of its own.
struct dovetail_runtime {
  dovetail::Runtime runtime;
};
struct dovetail_space {
  dovetail::Space space;
};
struct dovetail_file {
  dovetail::File file;
};
struct dovetail_handle {
  dovetail::TaskHandle handle;
};
struct dovetail_operation {
  dovetail::PendingOperation operation;
  std::atomic<std::uint32_t> owners{1};
};

namespace dovetail::c {

/// The object that a pointer argument leads to.
/// @throws std::invalid_argument naming the argument when it is null.
template <class T>
T& given(T* pointer, const char* name) {
  if (pointer == nullptr) {
    throw std::invalid_argument(std::string("'") + name + "' is null");
  }
  return *pointer;
}

/// A number that must not be negative. @throws std::invalid_argument naming the argument.
inline std::uint64_t natural(std::int64_t value, const char* name) {
  if (value < 0) {
    throw std::invalid_argument(std::string("'") + name + "' is " + std::to_string(value) +
                                "; it must not be negative");
  }
  return static_cast<std::uint64_t>(value);
}

/// A number that must be one of 0 to `last`. @throws std::invalid_argument naming the argument.
inline std::int32_t choice(std::int32_t value, std::int32_t last, const char* name) {
  if (value < 0 || value > last) {
    throw std::invalid_argument(std::string("'") + name + "' is " + std::to_string(value) +
                                "; it must be one of 0 to " + std::to_string(last));
  }
  return value;
}

/// A number of nanoseconds; negative: no limit.
inline std::chrono::nanoseconds limit(std::int64_t at_most_ns) noexcept {
  return at_most_ns < 0 ? std::chrono::nanoseconds::max() : std::chrono::nanoseconds(at_most_ns);
}

/// The size of a structure in the first version that had it. Fields that were added since lie behind.
template <class T>
inline constexpr std::size_t first_size = sizeof(T);
template <>
inline constexpr std::size_t first_size<dovetail_task_description> = offsetof(dovetail_task_description, storage_bw);
template <>
inline constexpr std::size_t first_size<dovetail_options> = offsetof(dovetail_options, report_after_ms);
template <>
inline constexpr std::size_t first_size<dovetail_file_options> = offsetof(dovetail_file_options, urgency);
template <>
inline constexpr std::size_t first_size<dovetail_trace_summary> = offsetof(dovetail_trace_summary, communication);

/// Refuses a structure whose `size` cannot be that of any version.
template <class T>
void check_size(const T& structure, const char* name) {
  if (structure.size < first_size<T>) {
    throw std::invalid_argument(std::string("'") + name + "->size' is " + std::to_string(structure.size) +
                                "; set it to sizeof of the structure, here " + std::to_string(sizeof(T)));
  }
}

/// @throws std::logic_error outside of a task.
inline void require_task() {
  if (!this_task::active()) {
    throw std::logic_error("only allowed in the body of a task");
  }
}

/// A structure as this version knows it, whatever version the caller was compiled with. Fields that its version did not
/// have are zero.
template <class T>
T known_part(const T* structure, const char* name) {
  check_size(given(structure, name), name);
  const auto* const bytes = reinterpret_cast<const unsigned char*>(structure);
  const std::size_t size = structure->size;
  if (size > sizeof(T) && std::any_of(bytes + sizeof(T), bytes + size, [](unsigned char byte) { return byte != 0; })) {
    throw std::system_error(E2BIG, std::generic_category(),
                            std::string("'") + name + "' sets a field that this version of Dovetail does not know");
  }
  T known{};
  std::memcpy(&known, structure, std::min(size, sizeof(T)));
  return known;
}

/// Fills in a structure of the caller's as far as the caller's version has fields. Its `size` stays.
template <class T>
void fill_in(T* structure, T values, const char* name) {
  check_size(given(structure, name), name);
  values.size = structure->size;
  std::memcpy(structure, &values, std::min(structure->size, sizeof(T)));
}

}  // namespace dovetail::c
