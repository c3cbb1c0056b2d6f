// What the environment says about reading ahead from inside of a program (docs/prefetch.md).
#pragma once

#include <cstdint>
#include <optional>

namespace dovetail::prefetching {

struct Settings {
  bool of_tasks = true;                ///< What tasks declare is read ahead.
  bool whole_files = false;            ///< Also where a task declares all of a long file, of which it may read little.
  std::uint64_t window = 64U << 20;    ///< Bytes that are read ahead of tasks at most.
  std::optional<std::uint64_t> gap{};  ///< Bytes that are read rather than left out; none: what the device says.

  /// @throws std::invalid_argument naming the variable that makes no sense, and what would.
  static Settings from_environment();
};

}  // namespace dovetail::prefetching
