#include "prefetch/settings.hpp"

#include <cstdlib>

#include "tasking/settings.hpp"

namespace dovetail::prefetching {

using tasking::number_from_environment;

Settings Settings::from_environment() {
  constexpr std::size_t most = std::size_t{1} << 20;
  constexpr std::size_t usual_window = 64;
  Settings settings;
  constexpr std::size_t not_set = 2;
  const std::size_t of_tasks = number_from_environment("DOVETAIL_PREFETCH_TASKS", not_set, 0, 1);
  settings.of_tasks = of_tasks != 0;
  settings.whole_files = of_tasks == 1;
  settings.window = std::uint64_t{number_from_environment("DOVETAIL_PREFETCH_WINDOW_MB", usual_window, 1, most)} << 20;
  const char* const gap = std::getenv("DOVETAIL_PREFETCH_GAP_KB");
  if (gap != nullptr && *gap != '\0') {
    settings.gap = std::uint64_t{number_from_environment("DOVETAIL_PREFETCH_GAP_KB", 0, 0, most)} << 10;
  }
  return settings;
}

}  // namespace dovetail::prefetching
