// The transfers that somebody is told the end of.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace dovetail::staging {

/// What is to be called when the lock is no longer held.
using Calls = std::vector<std::function<void()>>;

/// Of one call of the program. Guarded by the lock of the `Stage`.
struct Transfers {
  unsigned outstanding = 0;
  std::string error;        ///< Text of the first failure.
  std::uint64_t begun = 0;  ///< Nanoseconds of the steady clock.
  std::uint64_t ended = 0;
  std::vector<std::function<void()>> when_done;

  /// One of them has, at `time`; what failed of it, if anything did. The last one moves `when_done` to `tell`.
  void one_ended(const std::string& failure, std::uint64_t time, Calls& tell) {
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
