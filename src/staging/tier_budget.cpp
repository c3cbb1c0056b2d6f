#include "staging/tier_budget.hpp"

#include <linux/magic.h>
#include <sys/statfs.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "base/available_memory.hpp"
#include "staging/writer_folders.hpp"

namespace dovetail::staging {
namespace {

namespace fs = std::filesystem;

// A small file does not look at the tier.
constexpr std::uint64_t least_grant = std::uint64_t{64} << 10;
// By then others may have taken what was left.
constexpr std::uint64_t most_grant = std::uint64_t{64} << 20;
constexpr std::uint64_t grant_part = 8;

std::uint64_t bytes_in(const fs::path& folder) {
  std::uint64_t sum = 0;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code removed;
    const std::uint64_t bytes = entry->file_size(removed);
    sum += removed ? 0 : bytes;
  }
  return sum;
}

}  // namespace

TierUse use_of(const std::string& tier) {
  TierUse use;
  std::error_code error;
  for (fs::directory_iterator entry(tier, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code removed;
    if (is_name_of_log(entry->path().filename().native()) && entry->is_directory(removed)) {
      use.bytes += bytes_in(entry->path());
      ++use.logs;
    }
  }
  return use;
}

std::uint64_t usual_budget(const std::string& tier, std::uint64_t used) {
  struct statfs status{};
  if (::statfs(tier.c_str(), &status) != 0 || status.f_blocks == 0) {
    return std::numeric_limits<std::uint64_t>::max();  // it does not say; where it is full, a write fails
  }
  const std::uint64_t free = std::uint64_t{status.f_bavail} * static_cast<std::uint64_t>(status.f_bsize) + used;
  const std::uint64_t budget = free - free / 10;
  const bool is_in_memory = status.f_type == TMPFS_MAGIC || status.f_type == RAMFS_MAGIC;
  return is_in_memory ? std::min(budget, base::available_memory() / 2 + used / 2) : budget;
}

TierBudget::TierBudget(std::string tier, std::uint64_t limit)
    : tier_(std::move(tier)), limit_(limit), granted_(least_grant) {}

bool TierBudget::take(std::uint64_t bytes) {
  if (bytes <= granted_) {
    granted_ -= bytes;
    return true;
  }
  const TierUse use = use_of(tier_);
  const std::uint64_t limit = limit_ != 0 ? limit_ : usual_budget(tier_, use.bytes);
  const std::uint64_t left = limit - std::min(limit, use.bytes);
  is_nearly_spent_ = left < limit / 2;
  // Each of them may look now.
  const std::uint64_t share = left / std::max<std::uint64_t>(use.logs, 1);
  if (bytes > share) {
    granted_ = 0;
    return false;
  }
  granted_ = std::max(bytes, std::min(share / grant_part, most_grant)) - bytes;
  return true;
}

}  // namespace dovetail::staging
