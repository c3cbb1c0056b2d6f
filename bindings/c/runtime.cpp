// Runtimes and the version.
#include "dovetail/runtime.hpp"

#include <chrono>
#include <memory>
#include <stdexcept>

#include "argument.hpp"
#include "error.hpp"

namespace dovetail::c {
namespace {

Options translate(const dovetail_options& given_options) {
  Options options;
  options.workers = static_cast<unsigned>(natural(given_options.workers, "options->workers"));
  options.io_executors = static_cast<unsigned>(natural(given_options.io_executors, "options->io_executors"));
  if (given_options.engine != nullptr) {
    options.engine = given_options.engine;
  }
  if (given_options.trace != nullptr) {
    options.trace = given_options.trace;
  }
  options.stack_size = given_options.stack_size;
  options.pending_limit = given_options.pending_limit;
  if (given_options.stuck_after_ms != 0) {
    options.stuck_after = std::chrono::milliseconds(std::max<std::int64_t>(given_options.stuck_after_ms, 0));
  }
  if (given_options.report_after_ms != 0) {
    options.report_after = std::chrono::milliseconds(std::max<std::int64_t>(given_options.report_after_ms, 0));
  }
  options.bind_workers = given_options.bind_workers != 0;
  choice(given_options.reserved, 0, "options->reserved");
  return options;
}

}  // namespace
}  // namespace dovetail::c

using namespace dovetail::c;

extern "C" {

int32_t dovetail_library_version(void) {
  return DOVETAIL_VERSION_MAJOR * 10000 + DOVETAIL_VERSION_MINOR * 100 + DOVETAIL_VERSION_PATCH;
}

int32_t dovetail_runtime_create(const dovetail_options* options, dovetail_runtime** runtime) {
  return guarded(__func__, [&]() -> int32_t {
    given(runtime, "runtime");
    const auto translated = options != nullptr ? translate(known_part(options, "options")) : dovetail::Options{};
    *runtime = new dovetail_runtime{dovetail::Runtime(translated)};
    return 0;
  });
}

int32_t dovetail_runtime_destroy(dovetail_runtime* runtime) {
  return guarded(__func__, [&]() -> int32_t {
    if (runtime != nullptr && dovetail::this_task::active()) {
      throw std::logic_error("a task cannot destroy a runtime, as that waits for all tasks");
    }
    delete runtime;
    return 0;
  });
}

int32_t dovetail_runtime_wait(dovetail_runtime* runtime) {
  return guarded(__func__, [&]() -> int32_t {
    given(runtime, "runtime").runtime.wait();
    return 0;
  });
}

int32_t dovetail_runtime_cancel(dovetail_runtime* runtime) {
  return guarded(__func__, [&]() -> int32_t {
    given(runtime, "runtime").runtime.cancel();
    return 0;
  });
}

int32_t dovetail_runtime_workers(const dovetail_runtime* runtime) {
  return guarded(__func__, [&] { return static_cast<int32_t>(given(runtime, "runtime").runtime.workers()); });
}

int32_t dovetail_runtime_options(const dovetail_runtime* runtime, dovetail_options* options) {
  return guarded(__func__, [&]() -> int32_t {
    const dovetail::Options& in_force = given(runtime, "runtime").runtime.options();
    const auto milliseconds = [](std::chrono::milliseconds time) { return time.count() == 0 ? -1 : time.count(); };
    fill_in(options,
            {.size = 0,
             .workers = static_cast<int32_t>(in_force.workers),
             .io_executors = static_cast<int32_t>(in_force.io_executors),
             .engine = in_force.engine.c_str(),
             .trace = in_force.trace.c_str(),
             .stack_size = in_force.stack_size,
             .pending_limit = in_force.pending_limit,
             .stuck_after_ms = milliseconds(in_force.stuck_after),
             .bind_workers = in_force.bind_workers ? 1 : 0,
             .reserved = 0,
             .report_after_ms = milliseconds(in_force.report_after)},
            "options");
    return 0;
  });
}

}  // extern "C"
