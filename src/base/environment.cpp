#include "base/environment.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <numeric>
#include <utility>
#include <vector>

namespace dovetail::base {
namespace {

constexpr std::string_view prefix = "DOVETAIL_";

// tests/base/environment_names_test.py compares this list with what the tree asks for.
constexpr std::string_view known[] = {
    // Runtimes (dovetail/options.hpp) and recordings.
    "DOVETAIL_CONFIG",
    "DOVETAIL_ENGINE",
    "DOVETAIL_IO_EXECUTORS",
    "DOVETAIL_STACK_SIZE",
    "DOVETAIL_TRACE",
    "DOVETAIL_TRACE_ACCESSES",
    "DOVETAIL_TRACE_EVENTS",
    "DOVETAIL_WORKERS",
    // Messages (docs/messages.md), one-sided communication (docs/one_sided.md).
    "DOVETAIL_FABRIC",
    "DOVETAIL_GASPI_LIBRARY",
    "DOVETAIL_MPI_LINGER",
    "DOVETAIL_MPI_POLL",
    // The HDF5 connector (docs/hdf5.md).
    "DOVETAIL_HDF5_BUFFER",
    "DOVETAIL_HDF5_CLOSE",
    "DOVETAIL_HDF5_COMPRESSION_THREADS",
    "DOVETAIL_HDF5_EXIT_STATUS",
    "DOVETAIL_HDF5_FLUSH",
    "DOVETAIL_HDF5_READ_AHEAD",
    "DOVETAIL_HDF5_REPORT",
    // Programs that are observed, have a plan or are detected (docs/prefetch.md). The commands give the first five.
    "DOVETAIL_PREFETCH_ADVICE",
    "DOVETAIL_PREFETCH_DETECTION",
    "DOVETAIL_PREFETCH_FILTERS",
    "DOVETAIL_PREFETCH_LOG",
    "DOVETAIL_PREFETCH_PLAN",
    "DOVETAIL_ADVISORD_SOCKET",
    "DOVETAIL_PREFETCH_GAP_KB",
    "DOVETAIL_PREFETCH_TASKS",
    "DOVETAIL_PREFETCH_WINDOW_MB",
    // Files that are staged (docs/staging.md).
    "DOVETAIL_DRAIN_BANDWIDTH",
    "DOVETAIL_MPIIO_CONFIGURATION",
    "DOVETAIL_STAGING_CONFIGURATION",
    "DOVETAIL_TIER",
    "DOVETAIL_TIER_BUDGET_MB",
    // Python.
    "DOVETAIL_CLUSTER",
    "DOVETAIL_PROGRESS",
    "DOVETAIL_PYCOMPSS_NESTED",
    // Tools, tests and builds.
    "DOVETAIL_BUILD_DIR",
    "DOVETAIL_FOREIGN_SOURCES",
    "DOVETAIL_HDF5_PROGRAMS",
    "DOVETAIL_PYTHON",
    "DOVETAIL_SANITIZE",
    "DOVETAIL_SOURCE_DIR",
    "DOVETAIL_TRACE_SAMPLE",
};
constexpr std::string_view known_beginnings[] = {"DOVETAIL_BENCH_", "DOVETAIL_TEST_"};

// How many letters have to be changed, put in or left out.
std::size_t distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> row(right.size() + 1);
  std::iota(row.begin(), row.end(), 0U);
  for (std::size_t i = 0; i < left.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < right.size(); ++j) {
      const std::size_t changed = diagonal + (left[i] == right[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

bool is_known_variable(std::string_view name) noexcept {
  return std::ranges::find(known, name) != std::end(known) ||
         std::ranges::any_of(known_beginnings, [&](std::string_view beginning) { return name.starts_with(beginning); });
}

std::string_view known_variable_near(std::string_view name) {
  // Two letters exchanged count as two changes.
  constexpr std::size_t farthest = 3;
  std::string_view nearest;
  std::size_t least = farthest + 1;
  for (const std::string_view candidate : known) {
    if (const std::size_t away = distance(name, candidate); away < least) {
      least = away;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string describe_unknown_variable(std::string_view name) {
  std::string text = "the environment variable " + std::string(name) + " is none of Dovetail's and has no effect";
  if (const std::string_view meant = known_variable_near(name); !meant.empty()) {
    text.append("; is ").append(meant).append(" meant?");
  }
  return text;
}

void tell_of_unknown_variables() {
  static std::atomic<bool> told{false};
  if (told.exchange(true, std::memory_order_relaxed)) {
    return;
  }
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    if (name.starts_with(prefix) && !is_known_variable(name)) {
      std::fprintf(stderr, "dovetail: %s\n", describe_unknown_variable(name).c_str());
    }
  }
}

}  // namespace dovetail::base
