#include "staging/tier_folders.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "staging/placement.hpp"
#include "staging/recovery.hpp"

namespace dovetail::staging {
namespace {

constexpr long alone = -1;      // the process that has it writes the file alone
constexpr long no_writer = -2;  // it is the name of something else

long writer_of(std::string_view name, std::string_view file) noexcept {
  if (name == file) {
    return alone;
  }
  if (!name.starts_with(file) || name.size() <= file.size() + 1 || name[file.size()] != '.') {
    return no_writer;
  }
  name.remove_prefix(file.size() + 1);
  unsigned number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc() && end == name.data() + name.size() ? static_cast<long>(number) : no_writer;
}

}  // namespace

std::string writer_folder(const std::string& folder, unsigned writer) { return folder + "." + std::to_string(writer); }

namespace {

std::vector<std::pair<long, std::string>> find_writers(const std::string& folder, FileFailure& failure) {
  const std::filesystem::path path(folder);
  const std::string file = path.filename();
  std::vector<std::pair<long, std::string>> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(path.parent_path(), error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (const long writer = writer_of(name, file); writer != no_writer) {
      found.emplace_back(writer, entry->path());
    }
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    failure = {.error = error.value(), .operation = "list", .path = path.parent_path()};
  }
  std::ranges::sort(found);
  return found;
}

// As `recover`. Nothing: all that is in it is in the final file already, and it stays.
std::optional<FileFailure> recover_staged(const std::string& folder, const TierSettings& settings) {
  const FoundPlacement found = read_placement(folder);
  if (!found.placement) {
    return recover(folder, settings);
  }
  TieredFile::Opened opened = TieredFile::open(folder, found.placement->final_path, settings);
  if (opened.failure) {
    return std::move(opened.failure);
  }
  if (opened.file->staged_end() == 0) {
    return std::nullopt;
  }
  return opened.file->finish();
}

}  // namespace

std::vector<std::string> writer_folders(const std::string& folder, FileFailure& failure) {
  std::vector<std::string> folders;
  for (auto& [writer, each] : find_writers(folder, failure)) {
    folders.push_back(std::move(each));
  }
  return folders;
}

std::string next_writer_folder(const std::string& folder, FileFailure& failure) {
  const auto found = find_writers(folder, failure);
  return writer_folder(folder, found.empty() ? 0 : static_cast<unsigned>(found.back().first + 1));
}

bool is_of_this_user(const std::string& folder) {
  struct stat status{};
  return ::lstat(folder.c_str(), &status) != 0 || status.st_uid == ::geteuid();
}

WriterRecovery recover_writers(const std::string& folder, const TierSettings& settings) {
  WriterRecovery result;
  for (const std::string& each : writer_folders(folder, result.failure)) {
    if (!is_of_this_user(each)) {
      result.foreign.push_back(each);
      continue;
    }
    // Nobody else has changed the size of a file that was written alone.
    TierSettings own = settings;
    own.shared = settings.shared && each != folder;
    std::optional<FileFailure> failure = each != folder ? recover_staged(each, own) : recover(each, own);
    if (!failure) {
      continue;
    }
    if (!*failure) {
      result.recovered.push_back(each);
    } else if (failure->error == ESTALE || failure->error == ENOENT) {
      result.orphans.push_back(each);
    } else if (failure->error != EBUSY && !result.failure) {
      result.failure = *std::move(failure);
    }
  }
  return result;
}

TierLock lock_tier(const std::string& tier) {
  const std::string path = tier + "/.dovetail-" + std::to_string(::geteuid()) + ".lock";
  TierLock lock;
  lock.descriptor =
      base::Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600));
  struct stat status{};
  if (lock.descriptor.get() < 0 || ::fstat(lock.descriptor.get(), &status) != 0) {
    lock.failure = {.error = errno, .operation = "open", .path = path};
  } else if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid()) {
    lock.failure = {.error = EPERM, .operation = "use", .path = path, .why = "it is not a regular file of this user"};
  } else {
    int result = 0;
    do {
      result = ::flock(lock.descriptor.get(), LOCK_EX);
    } while (result != 0 && errno == EINTR);
    if (result != 0) {
      lock.failure = {.error = errno, .operation = "lock", .path = path};
    }
  }
  return lock;
}

}  // namespace dovetail::staging
