// Transfers whose end is told.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "staging/stage_lock.hpp"

namespace dovetail::staging {

/// What is to be called when the lock is no longer held.
using Calls = std::vector<std::function<void()>>;

/// Of one call of the program.
struct Transfers {
  explicit Transfers(std::uint64_t time = 0) noexcept : begun(time) {}

  const std::uint64_t begun;  ///< Nanoseconds of the steady clock.
  unsigned outstanding GUARDED_BY(stage_lock) = 0;
  std::string error GUARDED_BY(stage_lock);  ///< Text of the first failure.
  std::uint64_t ended GUARDED_BY(stage_lock) = 0;
  std::vector<std::function<void()>> when_done GUARDED_BY(stage_lock);

  /// One of them has, at `time`; what failed of it, if anything did. The last one moves `when_done` to `tell`.
  void one_ended(const std::string& failure, std::uint64_t time, Calls& tell) REQUIRES(stage_lock) {
    if (error.empty()) {
      error = failure;
    }
    ended = time;
    if (--outstanding == 0) {
      for (auto& call : when_done) {
        tell.push_back(std::move(call));
      }
      when_done.clear();
    }
  }
};

}  // namespace dovetail::staging
