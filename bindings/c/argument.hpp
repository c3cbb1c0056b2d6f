// Checking what a C caller passes, and the C++ objects behind the opaque ones.
#pragma once

#include <algorithm>
#include <cerrno>
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
#include "dovetail/this_task.hpp"

// A runtime, a polling service and a file are what the C++ classes of those names are. A future is the task itself (one
// reference to it), and the events are the ones of the task: neither needs an object of its own.
struct dovetail_runtime {
  dovetail::Runtime runtime;
};
struct dovetail_polling {
  dovetail::PollingService service;
};
struct dovetail_file {
  dovetail::File file;
};
struct dovetail_handle {
  dovetail::TaskHandle handle;
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

/// Refuses a structure whose `size` cannot be that of any version. All versions so far have the fields of the first.
template <class T>
void check_size(const T& structure, const char* name) {
  if (structure.size < sizeof(T)) {
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

/// A structure as this version knows it, whatever version the caller was compiled with.
template <class T>
T known_part(const T* structure, const char* name) {
  check_size(given(structure, name), name);
  const auto* const bytes = reinterpret_cast<const unsigned char*>(structure);
  if (std::any_of(bytes + sizeof(T), bytes + structure->size, [](unsigned char byte) { return byte != 0; })) {
    throw std::system_error(E2BIG, std::generic_category(),
                            std::string("'") + name + "' sets a field that this version of Dovetail does not know");
  }
  T known;
  std::memcpy(&known, structure, sizeof(T));
  return known;
}

}  // namespace dovetail::c
