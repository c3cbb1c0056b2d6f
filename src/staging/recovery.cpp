#include "staging/recovery.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <tuple>
#include <utility>

#include "staging/log_folder.hpp"
#include "staging/opened_log.hpp"
#include "staging/placement.hpp"
#include "staging/tier_registration.hpp"
#include "staging/writer_folders.hpp"

namespace dovetail::staging {
namespace {

// A process was killed before it had put anything into the folder, or after it had taken all out of it.
FileFailure remove_empty(FileCalls& calls, const OpenedFolder& opened) {
  const std::string& path = opened.folder.path;
  FileFailure failure;
  if (is_discarded(opened.folder)) {
    failure = remove_segments(calls, opened.folder);
  } else if (!segment_numbers(opened.folder, failure).empty() && !failure) {
    failure = missing_placement(path);
  }
  // A user may have named another folder, such as that of the tier.
  std::error_code error;
  for (std::filesystem::directory_iterator entry(path, error), end; !failure && !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (name != new_placement_name && name != discarded_placement_name && name != closed_name && name != reserve_name) {
      failure = {.error = EINVAL, .operation = "recover", .path = path, .why = "it is not the folder of a staged file"};
    }
  }
  if (!failure) {
    calls.remove(opened.folder.descriptor.get(), reserve_name);
  }
  return failure ? failure : remove_placement(calls, opened.folder);
}

// Without the mark, others would take this process for one that stages the file.
FileFailure mark_closed(FileCalls& calls, const LogFolder& folder) {
  const int in = folder.descriptor.get();
  base::Descriptor mark(calls.open(in, closed_name, O_WRONLY | O_CREAT));
  if ((mark.get() == -ENOSPC || mark.get() == -EDQUOT) && calls.remove(in, reserve_name) == 0) {
    mark = base::Descriptor(calls.open(in, closed_name, O_WRONLY | O_CREAT));
  }
  if (mark.get() >= 0) {
    return {};
  }
  return {.error = -mark.get(),
          .operation = "make",
          .path = folder.path + "/" + closed_name,
          .why = "other processes would not know that it is recovered",
          .remedy = "make room for a file in the tier"};
}

// Its process has written the file alone, so that no other process has changed its size. The number of the folder says so only where there are no generations.
bool is_of_one_process(const std::string& folder, const Generation& generation) {
  return generation.is_none() ? file_folder(folder) == folder : generation.job == 0;
}

// The final file does not name the tier for it any more. It may be gone, or another one, or this user's to read only: then it stays as it is.
void forget_log(FileCalls& calls, const std::string& folder, const std::optional<Placement>& placement) {
  if (!placement) {
    return;
  }
  const base::Descriptor file(::open(placement->final_path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  FileFailure failure;
  if (file.get() >= 0 && identity_of(file.get(), placement->final_path, failure) == placement->final_file && !failure) {
    unregister_log({.calls = calls, .descriptor = file.get(), .path = placement->final_path}, placement->generation,
                   folder);
  }
}

}  // namespace

OpenedFolder take_to_recover(const std::string& folder, FileCalls& calls, std::optional<LogIdentity> log) {
  OpenedFolder taken = open_log_folder(calls, folder, false);
  if (log) {  // Also if it is busy: with another log then.
    const FoundPlacement found = read_placement(folder);
    if (!found.failure && (!found.placement || found.placement->log != *log)) {
      taken.failure = {.error = ENOENT, .operation = "find the log in", .path = folder};
    }
  }
  // A user may have named another folder.
  if (!taken.failure && is_name_of_log(folder)) {
    taken.failure = mark_closed(calls, taken.folder);
  }
  if (taken.failure) {
    taken.folder.descriptor = LockedDescriptor();
  }
  return taken;
}

Recovery recover(const std::string& folder, const TierSettings& settings) {
  return recover(take_to_recover(folder, *settings.calls), settings);
}

Recovery recover(OpenedFolder taken, const TierSettings& settings) {
  if (taken.failure) {
    return {.failure = taken.failure.error == ENOENT ? FileFailure{} : std::move(taken.failure)};
  }
  const std::string folder = taken.folder.path;
  FoundPlacement found = read_placement(folder);
  if (!found.failure && !found.placement) {
    found.failure = remove_empty(*settings.calls, taken);
    return {.failure = std::move(found.failure)};
  }
  if (!found.failure) {
    found.failure = sync_name_of(*settings.calls, folder);
  }
  if (found.failure) {
    return {.failure = std::move(found.failure)};
  }
  TierSettings own = settings;
  own.only_what_is_left = true;
  own.shared = !is_of_one_process(folder, found.placement->generation);
  TieredFile::Opened opened = TieredFile::open(std::move(taken), found.placement->final_path, own);
  Recovery result{.failure = std::move(opened.failure),
                  .is_superseded = opened.is_superseded,
                  .elsewhere = std::move(opened.elsewhere)};
  if (!result.failure) {
    const bool had_something = opened.file->has_changes();
    result.failure = opened.file->finish();
    result.had_something = had_something && !result.failure;
  }
  return result;
}

FileFailure discard(const std::string& folder, FileCalls& calls) {
  OpenedFolder opened = open_log_folder(calls, folder, false);
  if (opened.failure) {
    return opened.failure.error == ENOENT ? FileFailure{} : std::move(opened.failure);
  }
  FoundPlacement found = read_placement(folder);
  if (!found.failure && !found.placement) {
    return remove_empty(calls, opened);
  }
  // From then on nothing of it counts, in whatever order its segments go.
  FileFailure failure = discard_placement(calls, opened.folder);
  if (!failure) {
    failure = remove_segments(calls, opened.folder);
  }
  if (!failure) {
    calls.remove(opened.folder.descriptor.get(), reserve_name);
    forget_log(calls, folder, found.placement);
  }
  return failure ? failure : remove_placement(calls, opened.folder);
}

namespace {

bool is_log(const std::string& folder) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::filesystem::path name = entry->path().filename();
    if (name == placement_name || name == new_placement_name || name == discarded_placement_name ||
        name == closed_name || name == reserve_name || name.extension() == ".log") {
      return true;
    }
  }
  return false;
}

}  // namespace

std::vector<std::string> logs_in(const std::string& tier, FileFailure& failure) {
  if (is_log(tier)) {
    return {tier};
  }
  std::vector<std::string> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(tier, error), end; !error && entry != end; entry.increment(error)) {
    if (is_log(entry->path())) {
      found.push_back(entry->path());
    }
  }
  if (error) {
    failure = {.error = error.value(), .operation = "look into", .path = tier};
  }
  std::ranges::sort(found, {},
                    [](const std::string& each) { return std::tuple(file_folder(each), each.size(), each); });
  return found;
}

}  // namespace dovetail::staging
