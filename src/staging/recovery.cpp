#include "staging/recovery.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "staging/log_folder.hpp"
#include "staging/opened_log.hpp"
#include "staging/placement.hpp"

namespace dovetail::staging {
namespace {

// A process was killed before it had put anything into the folder, or after it had taken all out of it.
FileFailure remove_empty(FileCalls& calls, const std::string& path) {
  OpenedFolder opened = open_log_folder(calls, path, false);
  if (opened.failure) {
    return opened.failure.error == ENOENT ? FileFailure{} : std::move(opened.failure);
  }
  FileFailure failure;
  if (!segment_numbers(opened.folder, failure).empty() && !failure) {
    failure = missing_placement(path);
  }
  // A user may have named another folder, such as that of the tier.
  std::error_code error;
  for (std::filesystem::directory_iterator entry(path, error), end; !failure && !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (name != new_placement_name && name != reserve_name) {
      failure = {.error = EINVAL, .operation = "recover", .path = path, .why = "it is not the folder of a staged file"};
    }
  }
  if (!failure) {
    calls.remove(opened.folder.descriptor.get(), reserve_name);
  }
  return failure ? failure : remove_placement(calls, opened.folder);
}

}  // namespace

FileFailure recover(const std::string& folder, const TierSettings& settings) {
  FoundPlacement found = read_placement(folder);
  if (found.failure) {
    return std::move(found.failure);
  }
  if (!found.placement) {
    return remove_empty(*settings.calls, folder);
  }
  TieredFile::Opened opened = TieredFile::open(folder, found.placement->final_path, settings);
  return opened.failure ? std::move(opened.failure) : opened.file->finish();
}

FileFailure discard(const std::string& folder, FileCalls& calls) {
  FoundPlacement found = read_placement(folder);
  if (!found.failure && !found.placement) {
    return remove_empty(calls, folder);
  }
  OpenedFolder opened = open_log_folder(calls, folder, false);
  if (opened.failure) {
    return std::move(opened.failure);
  }
  FileFailure failure;
  std::vector<std::uint32_t> numbers = segment_numbers(opened.folder, failure);
  // The newest first: what is left is the log of an earlier time.
  for (auto number = numbers.rbegin(); !failure && number != numbers.rend(); ++number) {
    if (const int error = calls.remove(opened.folder.descriptor.get(), segment_name(*number).c_str())) {
      failure = {.error = -error, .operation = "remove", .path = folder + '/' + segment_name(*number)};
    }
  }
  if (!failure) {
    calls.remove(opened.folder.descriptor.get(), reserve_name);
  }
  return failure ? failure : remove_placement(calls, opened.folder);
}

namespace {

bool is_log(const std::string& folder) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::filesystem::path name = entry->path().filename();
    if (name == placement_name || name == new_placement_name || name == reserve_name || name.extension() == ".log") {
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
  std::ranges::sort(found);
  return found;
}

}  // namespace dovetail::staging
