#include "others.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <exception>
#include <filesystem>
#include <vector>

#include "base/descriptor.hpp"
#include "listener.hpp"
#include "staging/placement.hpp"
#include "staging/tier_folders.hpp"
#include "tell.hpp"
#include "within.hpp"

namespace dovetail::interpose::staged {
namespace {

using base::Descriptor;
using dovetail::staging::FileFailure;

Descriptor open_folder(const std::string& folder) {
  return Descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

void tell_of_orphan(const std::string& path, const std::string& folder) {
  tell(folder + " has what was written to a file that was " + path +
       " and is gone. It stays there: `dovetail staging discard --force` removes it");
}

// Folders of processes that live.
std::vector<std::string> recover_dead(const std::string& tier, const std::string& path, FileFailure& failure) {
  std::vector<std::string> living;
  const dovetail::staging::TierLock lock = dovetail::staging::lock_tier(tier);
  const dovetail::staging::FolderName name = dovetail::staging::folder_of(tier, path);
  if (name.failure.error == ENOENT) {
    return living;  // it has no name any more
  }
  failure = name.failure;
  if (failure || dovetail::staging::writer_folders(name.folder, failure).empty() || failure) {
    return living;
  }
  // A tier in which nothing can be made, and nothing was, keeps nobody from the file.
  failure = lock.failure;
  if (failure) {
    return living;
  }
  const dovetail::staging::WriterRecovery found = dovetail::staging::recover_writers(name.folder);
  failure = found.failure;
  for (const std::string& orphan : found.orphans) {
    tell_of_orphan(path, orphan);
  }
  for (std::string& folder : dovetail::staging::writer_folders(name.folder, failure)) {
    const Descriptor opened = dovetail::staging::is_of_this_user(folder) ? open_folder(folder) : Descriptor(-1);
    if (opened.get() >= 0 && ::flock(opened.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      living.push_back(std::move(folder));
    }
  }
  return living;
}

void wait_for(const std::string& folder) {
  const Descriptor opened = open_folder(folder);
  if (opened.get() < 0) {
    return;
  }
  ask(opened.get());
  while (::flock(opened.get(), LOCK_SH) != 0 && errno == EINTR) {
  }
}

}  // namespace

int settle_others(const std::string& tier, const std::string& path) noexcept {
  const Within within;
  try {
    FileFailure failure;
    for (;;) {
      const std::vector<std::string> living = recover_dead(tier, path, failure);
      if (failure) {
        tell("what was staged of " + path + " cannot be brought into it: " + failure.text());
        return failure.error;
      }
      if (living.empty()) {
        return 0;
      }
      for (const std::string& folder : living) {
        wait_for(folder);
      }
    }
  } catch (const std::exception&) {
    tell("there is no memory to look for what was staged of " + path);
    return ENOMEM;
  }
}

}  // namespace dovetail::interpose::staged
