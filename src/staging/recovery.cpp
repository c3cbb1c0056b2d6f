#include "staging/recovery.hpp"

#include <sys/stat.h>

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

}  // namespace dovetail::staging
