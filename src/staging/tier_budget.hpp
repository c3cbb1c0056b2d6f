// How much of a tier the logs take. The processes of a user share it, and each sees of the others what the file system says: a
// shared count would be wrong after a kill.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace dovetail::staging {

/// What the logs of this user are in a tier.
struct TierUse {
  std::uint64_t bytes = 0;  ///< Of their files.
  std::uint64_t logs = 0;   ///< Folders.
};
/// Reads names and sizes. What is removed meanwhile does not count. @throws std::bad_alloc
TierUse use_of(const std::string& tier);

/// Where the user has set none: nine tenths of what the file system has free. For one in memory it is also at most half of the memory that the machine and
/// the control groups leave. What the logs take already counts as free. @throws std::bad_alloc
std::uint64_t usual_budget(const std::string& tier, std::uint64_t used);

/// That of one log. It looks at the tier once, then lets the log take a part of its share of what is left, and looks again. Together the logs take at
/// most the budget, an eighth of it, and 64 KiB each. One thread at a time, save where said otherwise.
class TierBudget {
 public:
  /// @param tier a folder @param limit in bytes, of all logs in it; 0: `usual_budget`
  TierBudget(std::string tier, std::uint64_t limit);

  /// Whether the log may take so many bytes more. Blocks where it looks at the tier. @throws std::bad_alloc
  bool take(std::uint64_t bytes);
  /// Less than half of the budget was left when this log looked last. From any thread.
  bool is_nearly_spent() const noexcept { return is_nearly_spent_.load(std::memory_order_relaxed); }

 private:
  const std::string tier_;
  const std::uint64_t limit_;
  std::uint64_t granted_;
  std::atomic<bool> is_nearly_spent_{false};
};

}  // namespace dovetail::staging
