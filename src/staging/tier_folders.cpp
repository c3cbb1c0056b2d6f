#include "staging/tier_folders.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/descriptor.hpp"
#include "staging/log_generation.hpp"
#include "staging/placement.hpp"
#include "staging/recovery.hpp"

namespace dovetail::staging {
namespace {

// Its process drains it in the background. Returns when that has ended, or failed.
bool wait_if_closed(const std::string& folder) {
  const base::Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (opened.get() < 0 || ::faccessat(opened.get(), closed_name, F_OK, 0) != 0) {
    return false;
  }
  return lock_file(opened.get(), LOCK_SH) == 0;
}

WriterRecovery recover_folders(const std::string& folder, bool also_alone, const TierSettings& settings) {
  WriterRecovery result;
  for (const std::string& each : writer_folders(folder, result.failure)) {
    if (each == folder && !also_alone) {
      continue;
    }
    if (!is_of_this_user(each)) {
      result.foreign.push_back(each);
      continue;
    }
    Recovery recovered = recover(each, settings);
    if (recovered.failure.error == EBUSY && wait_if_closed(each)) {
      recovered = recover(each, settings);
    }
    const int error = recovered.failure.error;
    if (error == 0 && recovered.had_something) {
      result.recovered.push_back(each);
    } else if (recovered.is_superseded) {
      result.superseded.push_back(each);
    } else if (error == ESTALE || error == ENOENT) {
      result.orphans.push_back(each);
    } else if (error == EBUSY) {
      result.busy.push_back(each);
    } else if (error != 0 && !result.failure) {
      result.failure = std::move(recovered.failure);
    }
  }
  return result;
}

}  // namespace

WriterRecovery recover_writers(const std::string& folder, const TierSettings& settings) {
  return recover_folders(folder, true, settings);
}

WriterRecovery recover_ranks(const std::string& folder, const TierSettings& settings) {
  return recover_folders(folder, false, settings);
}

std::string text_of_recovered(const std::string& folder, const std::string& path) {
  return "what an earlier run had left in " + folder + " is in " + path + " now";
}

std::string text_of_orphan(const std::string& folder, const std::string& path) {
  return folder + " has what was written to an earlier file of the name " + path +
         ", which is gone, and is left alone: `dovetail staging discard --force` removes it";
}

std::string text_of_superseded(const std::string& folder, const std::string& path) {
  return folder + " has what was written to " + path +
         " before others opened it for writing, and is left alone: " + remedy_of_superseded;
}

std::string text_of_elsewhere(const StagedTier& tier, const std::string& path) {
  return "the tier " + tier.tier.path + " of the host " + tier.tier.host + " may have bytes of " + path +
         (tier.is_closed
              ? ", which the program that has closed it drains in the background, and are not seen here yet: if it has "
                "ended, `dovetail staging recover` there brings them into the file"
              : ", which were acknowledged and are not seen here: `dovetail staging recover` there brings them "
                "into the file, with `--over-newer` also if it has been opened for writing since");
}

}  // namespace dovetail::staging
