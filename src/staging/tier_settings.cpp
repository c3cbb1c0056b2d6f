#include "staging/tier_settings.hpp"

#include "tasking/settings.hpp"

namespace dovetail::staging {

using tasking::number_from_environment;

TierSettings settings_from_environment() {
  constexpr std::size_t most = std::size_t{1} << 40;
  constexpr std::uint64_t megabyte = 1'000'000;
  TierSettings settings;
  settings.budget_bytes = std::uint64_t{number_from_environment("DOVETAIL_TIER_BUDGET_MB", 0, 1, most)} << 20;
  settings.drain.bytes_per_second = number_from_environment("DOVETAIL_DRAIN_BANDWIDTH", 0, 1, most) * megabyte;
  return settings;
}

}  // namespace dovetail::staging
