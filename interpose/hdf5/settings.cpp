#include "settings.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "base/topology.hpp"
#include "memory_limit.hpp"

namespace dovetail::hdf5 {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;
constexpr std::size_t least_buffer = 4 * mebibyte;
// The cores are the program's in the first place.
constexpr unsigned most_compression_threads = 4;

[[noreturn]] void refuse(const char* variable, const char* value, const char* expected) {
  std::fprintf(stderr, "dovetail: %s is '%s'; it must be %s\n", variable, value, expected);
  // Not `exit`: HDF5 is in the middle of its initialisation, which its own clean-up would meet half done.
  std::fflush(nullptr);
  std::_Exit(2);
}

std::optional<std::size_t> bytes_of(std::string_view text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  unsigned shift = 0;
  if (unit == "K" || unit == "KiB") {
    shift = 10;
  } else if (unit == "M" || unit == "MiB") {
    shift = 20;
  } else if (unit == "G" || unit == "GiB") {
    shift = 30;
  } else if (!unit.empty()) {
    return std::nullopt;
  }
  if (error != std::errc{} || number > (SIZE_MAX >> (shift + 1))) {
    return std::nullopt;
  }
  return number << shift;
}

// An eighth of the memory: the program has the rest, and the page cache holds what was written in any case.
std::size_t default_buffer() {
  return std::clamp(static_cast<std::size_t>(memory_limit() / 8), least_buffer, 1024 * mebibyte);
}

// The environment is read while HDF5 initialises itself, when the program has no business changing it.
const char* variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value != nullptr && *value != '\0' ? value : nullptr;
}

bool choice(const char* name, std::string_view off, std::string_view on, bool otherwise, const char* expected) {
  const char* value = variable(name);
  if (value == nullptr) {
    return otherwise;
  }
  if (value != off && value != on) {
    refuse(name, value, expected);
  }
  return value == on;
}

unsigned number(const char* name, unsigned otherwise, unsigned most, const char* expected) {
  const char* value = variable(name);
  if (value == nullptr) {
    return otherwise;
  }
  const std::string_view text(value);
  unsigned found = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), found);
  if (error != std::errc{} || end != text.data() + text.size() || found > most) {
    refuse(name, value, expected);
  }
  return found;
}

Settings read_settings() {
  Settings found;
  found.buffer_bytes = default_buffer();
  if (const char* value = variable("DOVETAIL_HDF5_BUFFER")) {
    const auto bytes = bytes_of(value);
    if (!bytes || *bytes < least_buffer) {
      refuse("DOVETAIL_HDF5_BUFFER", value, "a number of bytes from 4M, such as 256M or 2G");
    }
    found.buffer_bytes = *bytes;
  }
  found.flush_waits = choice("DOVETAIL_HDF5_FLUSH", "background", "wait", true, "wait or background");
  found.read_ahead = choice("DOVETAIL_HDF5_READ_AHEAD", "0", "1", true, "0 or 1");
  found.report = choice("DOVETAIL_HDF5_REPORT", "0", "1", false, "0 or 1");
  found.compression_threads =
      number("DOVETAIL_HDF5_COMPRESSION_THREADS", std::min(base::allowed_processors(), most_compression_threads), 1024,
             "a number of threads from 0 (the program's own compress) to 1024");
  if (variable("DOVETAIL_HDF5_EXIT_STATUS") != nullptr) {
    found.failure_status =
        static_cast<int>(number("DOVETAIL_HDF5_EXIT_STATUS", 0, 255, "a status from 0 (the program's own) to 255"));
  }
  return found;
}

}  // namespace

const Settings& settings() {
  static const Settings found = read_settings();
  return found;
}

}  // namespace dovetail::hdf5
