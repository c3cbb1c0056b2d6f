#include "settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/memory_limit.hpp"
#include "base/topology.hpp"

namespace dovetail::hdf5 {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;
constexpr std::size_t least_buffer = 4 * mebibyte;
// The cores are the program's in the first place.
constexpr unsigned most_compression_threads = 4;

constexpr std::string_view prefix = "DOVETAIL_HDF5_";

struct Read {
  Settings settings;
  std::string refusal;             // the first
  std::vector<std::string> names;  // of all variables that were asked for
};

void refuse(Read& read, const char* variable, const char* value, const char* expected) {
  if (read.refusal.empty()) {
    read.refusal = std::string(variable) + " is '" + value + "'; it must be " + expected;
  }
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
  return std::clamp(static_cast<std::size_t>(base::memory_limit() / 8), least_buffer, 1024 * mebibyte);
}

// The environment is read while HDF5 initialises itself, when the program has no business changing it.
const char* variable(Read& read, const char* name) {
  if (std::ranges::find(read.names, name) == read.names.end()) {
    read.names.emplace_back(name);
  }
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value != nullptr && *value != '\0' ? value : nullptr;
}

bool choice(Read& read, const char* name, std::string_view off, std::string_view on, bool otherwise,
            const char* expected) {
  const char* value = variable(read, name);
  if (value == nullptr) {
    return otherwise;
  }
  if (value != off && value != on) {
    refuse(read, name, value, expected);
    return otherwise;
  }
  return value == on;
}

unsigned number(Read& read, const char* name, unsigned otherwise, unsigned most, const char* expected) {
  const char* value = variable(read, name);
  if (value == nullptr) {
    return otherwise;
  }
  const std::string_view text(value);
  unsigned found = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), found);
  if (error != std::errc{} || end != text.data() + text.size() || found > most) {
    refuse(read, name, value, expected);
    return otherwise;
  }
  return found;
}

// Of what begins as a setting of the connector, anything that was not asked for is misspelt.
void refuse_unknown(Read& read) {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string name(text.substr(0, text.find('=')));
    if (read.refusal.empty() && name.starts_with(prefix) && std::ranges::find(read.names, name) == read.names.end()) {
      read.refusal = name + " is no setting; there are";
      for (const std::string& known : read.names) {
        read.refusal += (&known == &read.names.front() ? " " : ", ") + known;
      }
    }
  }
}

Read read_settings() {
  Read read;
  Settings& found = read.settings;
  found.buffer_bytes = default_buffer();
  if (const char* value = variable(read, "DOVETAIL_HDF5_BUFFER")) {
    const auto bytes = bytes_of(value);
    if (bytes && *bytes >= least_buffer) {
      found.buffer_bytes = *bytes;
    } else {
      refuse(read, "DOVETAIL_HDF5_BUFFER", value, "a number of bytes from 4M, such as 256M or 2G");
    }
  }
  found.flush_waits = choice(read, "DOVETAIL_HDF5_FLUSH", "background", "wait", true, "wait or background");
  found.close_waits = choice(read, "DOVETAIL_HDF5_CLOSE", "background", "wait", true, "wait or background");
  found.read_ahead = choice(read, "DOVETAIL_HDF5_READ_AHEAD", "0", "1", true, "0 or 1");
  found.report = choice(read, "DOVETAIL_HDF5_REPORT", "0", "1", false, "0 or 1");
  found.compression_threads =
      number(read, "DOVETAIL_HDF5_COMPRESSION_THREADS", std::min(base::allowed_processors(), most_compression_threads),
             1024, "a number of threads from 0 (the program's own compress) to 1024");
  if (variable(read, "DOVETAIL_HDF5_EXIT_STATUS") != nullptr) {
    found.failure_status = static_cast<int>(
        number(read, "DOVETAIL_HDF5_EXIT_STATUS", 0, 255, "a status from 0 (the program's own) to 255"));
  }
  refuse_unknown(read);
  return read;
}

const Read& once_read() {
  static const Read found = read_settings();
  return found;
}

}  // namespace

const Settings& settings() { return once_read().settings; }

const char* refused_settings() {
  const std::string& refusal = once_read().refusal;
  return refusal.empty() ? nullptr : refusal.c_str();
}

}  // namespace dovetail::hdf5
