#include "staging/tier_folders.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "staging/log_generation.hpp"
#include "staging/placement.hpp"
#include "staging/recovery.hpp"

namespace dovetail::staging {

Holder holder_of(const std::string& folder) {
  const TierLock marks = lock_marks(tier_of_log(folder));
  if (::access(folder.c_str(), F_OK) != 0) {
    return Holder::gone;
  }
  return ::access((folder + "/" + closed_name).c_str(), F_OK) == 0 ? Holder::drains : Holder::stages;
}

void wait_if_closed(const std::string& folder) {
  const LockedDescriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (opened.get() >= 0 && ::faccessat(opened.get(), closed_name, F_OK, 0) == 0) {
    lock_file(opened.get(), LOCK_SH);
  }
}

TakenWriters take_writers(const std::string& folder, bool also_alone, FileCalls& calls) {
  TakenWriters result;
  for (const std::string& each : writer_folders(folder, result.others.failure)) {
    if (each == folder && !also_alone) {
      continue;
    }
    if (!is_of_this_user(each)) {
      result.others.foreign.push_back(each);
      continue;
    }
    OpenedFolder taken = take_to_recover(each, calls);
    const int error = taken.failure.error;
    if (error == 0) {
      result.dead.push_back(std::move(taken));
    } else if (error == EBUSY) {
      const Holder holder = holder_of(each);
      if (holder != Holder::gone) {
        (holder == Holder::drains ? result.closing : result.others.busy).push_back(each);
      }
    } else if (error != ENOENT) {
      result.others.failure = std::move(taken.failure);
      break;
    }
  }
  return result;
}

WriterRecovery recover_taken(TakenWriters taken, const TierSettings& settings) {
  WriterRecovery result = std::move(taken.others);
  for (OpenedFolder& each : taken.dead) {
    const std::string folder = each.folder.path;
    Recovery recovered = recover(std::move(each), settings);
    if (recovered.has_failed()) {
      result.failure = std::move(recovered.failure);
      break;
    }
    if (recovered.is_superseded) {
      result.superseded.push_back(folder);
    } else if (recovered.failure) {
      result.orphans.push_back(folder);
    } else if (recovered.had_something) {
      result.recovered.push_back(folder);
    }
  }
  return result;
}

WriterRecovery recover_writers(const std::string& folder, const TierSettings& settings) {
  TakenWriters taken = take_writers(folder, true, *settings.calls);
  while (!taken.closing.empty()) {
    taken.dead.clear();
    for (const std::string& each : taken.closing) {
      wait_if_closed(each);
    }
    taken = take_writers(folder, true, *settings.calls);
  }
  return recover_taken(std::move(taken), settings);
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
