#include "tasking/settings.hpp"

#include <cerrno>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <system_error>

#include "base/environment.hpp"
#include "base/starter.hpp"
#include "base/topology.hpp"
#include "base/zero_byte.hpp"
#include "trace/trace.hpp"

namespace dovetail::tasking {
namespace {

constexpr std::size_t most_workers = 4096;
constexpr std::size_t most_executors = 4096;
constexpr std::size_t least_stack = 16 * 1024;
constexpr std::size_t most_stack = 1024UL * 1024 * 1024;
constexpr std::size_t default_stack = 1024 * 1024;

void require_range(const std::string& name, std::size_t value, std::size_t least, std::size_t most) {
  if (value < least || value > most) {
    throw std::invalid_argument(name + " is " + std::to_string(value) + ", but must be a number from " +
                                std::to_string(least) + " to " + std::to_string(most));
  }
}

std::string text_from_environment(const char* variable, const char* fallback) {
  const char* text = std::getenv(variable);
  return text != nullptr ? text : fallback;
}

// A run whose trace cannot be written at its end had better not begin.
void require_trace(const std::string& name, const std::string& path) {
  try {
    trace::require_writable(path);
  } catch (const std::system_error& error) {
    throw std::invalid_argument(name + " is '" + base::show_zero_bytes(path) + "': " + error.what());
  }
}

}  // namespace

std::size_t number_from_environment(const char* variable, std::size_t fallback, std::size_t least, std::size_t most) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0') {
    return fallback;
  }
  char* end = nullptr;
  errno = 0;
  const unsigned long long value = std::strtoull(text, &end, 10);
  if (errno != 0 || end == text || *end != '\0' || *text == '-') {
    throw std::invalid_argument(std::string(variable) + " is '" + text + "', but must be a number from " +
                                std::to_string(least) + " to " + std::to_string(most));
  }
  require_range(variable, value, least, most);
  return value;
}

Options complete_options(const Options& given) {
  base::tell_of_unknown_variables();
  Options options = given;
  if (options.workers == 0) {
    options.workers =
        static_cast<unsigned>(number_from_environment("DOVETAIL_WORKERS", base::allowed_processors(), 1, most_workers));
  }
  require_range("Options::workers", options.workers, 1, most_workers);
  if (options.io_executors == 0) {
    options.io_executors =
        static_cast<unsigned>(number_from_environment("DOVETAIL_IO_EXECUTORS", default_executors, 1, most_executors));
  }
  require_range("Options::io_executors", options.io_executors, 1, most_executors);
  if (options.stack_size == 0) {
    options.stack_size = number_from_environment("DOVETAIL_STACK_SIZE", default_stack, least_stack, most_stack);
  }
  require_range("Options::stack_size", options.stack_size, least_stack, most_stack);
  if (options.engine.empty()) {
    options.engine = text_from_environment("DOVETAIL_ENGINE", "auto");
  }
  if (options.trace.empty()) {
    options.trace = text_from_environment("DOVETAIL_TRACE", "");
  }
  if (const base::ProcessRank process = base::rank_of_process(); !options.trace.empty() && process.size > 1) {
    options.trace += "." + std::to_string(process.rank);  // the ranks would write over each other
  }
  if (!options.trace.empty()) {
    require_trace(given.trace.empty() ? "DOVETAIL_TRACE" : "Options::trace", options.trace);
  }
  if (options.stuck_after.count() < 0) {
    throw std::invalid_argument("Options::stuck_after is negative; zero means never");
  }
  if (options.report_after.count() < 0) {
    throw std::invalid_argument("Options::report_after is negative; zero means never");
  }
  return options;
}

}  // namespace dovetail::tasking
