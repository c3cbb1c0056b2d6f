#include "staging/tier_registration.hpp"

#include <algorithm>
#include <vector>

#include "staging/placement.hpp"
#include "staging/tier_lock.hpp"
#include "staging/writer_folders.hpp"

namespace dovetail::staging {
namespace {

bool has_generation(const std::string& folder, const Generation& generation) {
  const FoundPlacement found = read_placement(folder);
  return found.placement && found.placement->generation == generation;
}

// Ends with the first other one. So only the last rank of a node reads what is left of earlier jobs.
bool is_last(const std::string& folder, const Generation& generation) {
  FileFailure failure;
  const std::vector<std::string> folders = writer_folders(file_folder(folder), failure);
  return !failure && std::ranges::none_of(folders, [&](const std::string& each) {
    return each != folder && has_generation(each, generation);
  });
}

}  // namespace

FileFailure register_log(const MarkedFile& file, const Generation& generation, const std::string& folder,
                         bool is_closed) {
  if (generation.is_none()) {
    return {};
  }
  const std::string tier = tier_of_log(folder);
  // Without it, the worst is a tier that is named although nothing is left there, or the other way round: no bytes depend on it.
  const TierLock lock = lock_marks(tier);
  return note_tier(file, generation, {.tier = tier_here(tier), .is_closed = is_closed});
}

FileFailure unregister_log(const MarkedFile& file, const Generation& generation, const std::string& folder) {
  if (generation.is_none()) {
    return {};
  }
  const std::string tier = tier_of_log(folder);
  const TierLock lock = lock_marks(tier);
  return is_last(folder, generation) ? forget_tier(file, generation, tier_here(tier)) : FileFailure{};
}

}  // namespace dovetail::staging
