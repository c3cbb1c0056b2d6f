#include "services.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>

#include "settings.hpp"
#include "tasking/background.hpp"

namespace dovetail::hdf5 {
namespace {

// Few: they move bytes between memory and files, and the cores are the program's. More than one, so that files do not wait for each
// other.
constexpr unsigned movers = 4;

}  // namespace

Services::Services()
    : memory(settings().buffer_bytes),
      for_long(settings().buffer_bytes / 2),
      stage(staging::Stage::of_process(memory, overlap)) {
  // Transfers block in the call itself, so that no engine is asked.
  tasking::set_background_options({.workers = std::max(1U, settings().compression_threads),
                                   .io_executors = movers + 1,
                                   .engine = "threads",
                                   .stuck_after = std::chrono::milliseconds(0)});
  compressed.chunk_ended = [this] {
    const Lock lock(stage.mutex);
    stage.notify();
  };
  static Services* const made = this;
  pthread_atfork(nullptr, nullptr, [] { made->reset_statistics(true); });  // what was done before was the parent's
}

void Services::reset_statistics(bool threads_gone) noexcept {
  const Lock lock(stage.mutex);
  report = {};
  stage.statistics = {};
  overlap.reset(threads_gone);
  ahead.reset();
  compressed.reset();
}

Services& services() {
  static auto* const made = new Services;
  return *made;
}

}  // namespace dovetail::hdf5
