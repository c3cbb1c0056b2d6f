#include "others.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "base/descriptor.hpp"
#include "configuration.hpp"
#include "listener.hpp"
#include "staging/final_mark.hpp"
#include "staging/log_generation.hpp"
#include "staging/placement.hpp"
#include "staging/tier_folders.hpp"
#include "staging/writer_folders.hpp"
#include "tell.hpp"
#include "within.hpp"

namespace dovetail::interpose::staged {
namespace {

using base::Descriptor;
using dovetail::staging::FileFailure;

Descriptor open_folder(const std::string& folder) {
  return Descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// Folders of processes that live.
struct Living {
  std::vector<std::string> closing;  // they bring it in, and let the folders go without being asked
  std::vector<std::string> busy;
};

bool is_of_other_file(const std::string& folder, ino_t inode) {
  const std::optional<dovetail::staging::Placement> placement = dovetail::staging::read_placement(folder).placement;
  return placement && placement->final_file.inode != inode;
}

// Brings in what ended processes have left. Where others do so, nothing: what is left may be newer than theirs.
Living recover_dead(const std::string& tier, const std::string& path, ino_t inode, FileFailure& failure) {
  const Within within;
  std::optional<dovetail::staging::TierLock> lock(dovetail::staging::lock_tier(tier));
  const dovetail::staging::FolderName name = dovetail::staging::folder_of(tier, path);
  if (name.failure.error == ENOENT) {
    return {};  // it has no name any more
  }
  failure = name.failure;
  if (failure || dovetail::staging::writer_folders(name.folder, failure).empty() || failure) {
    return {};
  }
  // A tier in which nothing can be made, and nothing was, keeps no process from the file.
  failure = lock->failure;
  if (failure) {
    return {};
  }
  dovetail::staging::TakenWriters taken = dovetail::staging::take_writers(name.folder, true);
  lock.reset();  // openings of other files go on
  Living living{.closing = std::move(taken.closing), .busy = {}};
  std::erase_if(living.closing, [&](const std::string& folder) { return is_of_other_file(folder, inode); });
  if (!living.closing.empty()) {
    living.busy = std::move(taken.others.busy);
    return living;
  }
  dovetail::staging::WriterRecovery found = dovetail::staging::recover_taken(std::move(taken), tier_settings());
  failure = std::move(found.failure);
  for (const std::string& folder : found.orphans) {
    tell(dovetail::staging::text_of_orphan(folder, path));
  }
  for (const std::string& folder : found.superseded) {
    tell(dovetail::staging::text_of_superseded(folder, path));
  }
  for (const std::string& folder : found.foreign) {
    std::string sentence = path;
    tell(sentence.append(" may lack what another user has staged in ").append(folder));
  }
  living.busy = std::move(found.busy);
  return living;
}

void tell_of(const FileFailure& failure, const std::string& path) {
  tell("what was staged of " + path + " cannot be brought into it: " + failure.text());
}

Descriptor open_asked(const std::string& folder) {
  const Within within;
  Descriptor opened = open_folder(folder);
  if (opened.get() >= 0) {
    ask(opened.get());
  }
  return opened;
}

// The program's signals are taken meanwhile: the other process may have a reason for which it takes long. 0, or EINTR. A handler that runs at the instant at which the
// folder has been locked must not open the same file: it would wait for this lock.
int wait_for(const std::string& folder) {
  Descriptor opened = open_asked(folder);
  const bool interrupted = opened.get() >= 0 && ::flock(opened.get(), LOCK_SH) != 0 && errno == EINTR;
  const Within within;
  ::flock(opened.get(), LOCK_UN);  // also of the copy that the child of a fork has
  opened = Descriptor(-1);
  return interrupted ? EINTR : 0;
}

}  // namespace

int settle_others(const std::string& tier, const std::string& path, ino_t inode) noexcept {
  try {
    for (;;) {
      FileFailure failure;
      auto [closing, living] = recover_dead(tier, path, inode, failure);
      if (failure) {
        tell_of(failure, path);
        return failure.error;
      }
      std::ranges::move(closing, std::back_inserter(living));
      std::erase_if(living, [&](const std::string& folder) { return is_of_other_file(folder, inode); });
      if (living.empty()) {
        return 0;
      }
      for (const std::string& folder : living) {
        if (const int error = wait_for(folder)) {
          return error;
        }
      }
    }
  } catch (const std::exception&) {
    tell("there is no memory to look for what was staged of " + path);
    return ENOMEM;
  }
}

int settle_elsewhere(const std::string& tier, const std::string& path, int descriptor, bool writes) noexcept {
  try {
    const Within within;
    const dovetail::staging::MarkedFile file{
        .calls = dovetail::staging::FileCalls::system(), .descriptor = descriptor, .path = path};
    const std::vector<dovetail::staging::StagedTier> tiers = dovetail::staging::staged_elsewhere(file, tier);
    for (const dovetail::staging::StagedTier& each : tiers) {
      std::string sentence = path;
      sentence.append(writes ? " is opened for writing, so what is staged of it in " : " may lack what is staged in ")
          .append(dovetail::staging::text_of(each.tier));
      if (writes) {
        sentence.append(" counts no more; ").append(dovetail::staging::remedy_of_superseded);
      }
      tell(sentence);
    }
    const FileFailure failure = writes && !tiers.empty() ? dovetail::staging::supersede_logs(file) : FileFailure{};
    if (failure) {
      tell(path + " cannot be opened for writing: " + failure.text());
    }
    return failure.error;
  } catch (const std::exception&) {
    tell("there is no memory to look where " + path + " is staged");
    return ENOMEM;
  }
}

void settle_ended(const std::string& tier, const std::string& path, ino_t inode) noexcept {
  try {
    for (;;) {
      FileFailure failure;
      const Living living = recover_dead(tier, path, inode, failure);
      if (failure) {
        tell_of(failure, path);
      }
      if (failure || living.closing.empty()) {
        return;
      }
      for (const std::string& folder : living.closing) {
        wait_for(folder);  // also after a signal handler: a removal does not fail with EINTR
      }
    }
  } catch (const std::exception&) {
    tell("there is no memory to look for what was staged of " + path);
  }
}

}  // namespace dovetail::interpose::staged
