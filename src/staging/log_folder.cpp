#include "staging/log_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace dovetail::staging {
namespace {

constexpr std::size_t name_digits = 8;
constexpr std::string_view name_ending = ".log";

// 0: it is the name of something else.
std::uint32_t number_of(std::string_view name) noexcept {
  std::uint32_t number = 0;
  if (name.size() != name_digits + name_ending.size() || !name.ends_with(name_ending)) {
    return 0;
  }
  const auto [end, error] = std::from_chars(name.data(), name.data() + name_digits, number, 16);
  const bool usable = error == std::errc() && end == name.data() + name_digits && number <= most_segments;
  return usable && segment_name(number) == name ? number : 0;
}

FileFailure make_folder(FileCalls& calls, const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0) {
    calls.reached(CrashPoint::folder_made);
  } else if (errno != EEXIST) {
    return {.error = errno, .operation = "make", .path = path};
  }
  return sync_name_of(calls, path);
}

std::string objection_to(const struct stat& status) {
  if (status.st_uid != ::geteuid()) {
    return "it belongs to another user (" + std::to_string(status.st_uid) + ")";
  }
  return (status.st_mode & (S_IWGRP | S_IWOTH)) != 0 ? "other users may write into it" : "";
}

// A process that has waited for a folder holds its lock shared, for an instant. That is waited for: it stages nothing. An errno, or 0.
int lock_unless_taken(int folder) {
  int error = lock_file(folder, LOCK_EX | LOCK_NB);
  if (error == EWOULDBLOCK) {
    error = lock_file(folder, LOCK_SH | LOCK_NB) == 0 ? lock_file(folder, LOCK_EX) : EBUSY;
  }
  return error;
}

FileFailure take(const LogFolder& folder) {
  struct stat status{};
  if (::fstat(folder.descriptor.get(), &status) != 0) {
    return {.error = errno, .operation = "look at", .path = folder.path};
  }
  if (std::string why = objection_to(status); !why.empty()) {
    return {.error = EPERM, .operation = "use", .path = folder.path, .why = std::move(why)};
  }
  if (const int error = lock_unless_taken(folder.descriptor.get())) {
    return {.error = error,
            .operation = "lock",
            .path = folder.path,
            .why = error == EBUSY ? "another process has it" : ""};
  }
  // The process that had it may have removed it meanwhile.
  struct stat named{};
  if (::stat(folder.path.c_str(), &named) != 0 || named.st_ino != status.st_ino || named.st_dev != status.st_dev) {
    return {.error = EBUSY, .operation = "lock", .path = folder.path, .why = "another process has just removed it"};
  }
  return {};
}

}  // namespace

OpenedFolder open_log_folder(FileCalls& calls, const std::string& path, bool make) {
  OpenedFolder opened{.folder = {.path = path, .descriptor = LockedDescriptor()}, .failure = {}};
  if (make) {
    opened.failure = make_folder(calls, path);
  }
  if (!opened.failure) {
    opened.folder.descriptor = LockedDescriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    opened.failure = opened.folder.descriptor.get() < 0 ? FileFailure{.error = errno, .operation = "open", .path = path}
                                                        : take(opened.folder);
  }
  return opened;
}

FileFailure sync_name_of(FileCalls& calls, const std::string& path) {
  const std::string tier = path.substr(0, path.rfind('/') + 1);
  const base::Descriptor above(::open(tier.empty() ? "." : tier.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const int error = above.get() < 0 ? errno : make_durable(calls, above.get(), false);
  return error == 0 ? FileFailure{} : FileFailure{.error = error, .operation = "fsync", .path = tier};
}

FileFailure sync_names(FileCalls& calls, const LogFolder& folder) {
  const int error = make_durable(calls, folder.descriptor.get(), false);
  return error == 0 ? FileFailure{} : FileFailure{.error = error, .operation = "fsync", .path = folder.path};
}

std::vector<std::uint32_t> segment_numbers(const LogFolder& folder, FileFailure& failure) {
  std::vector<std::uint32_t> numbers;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder.path, error), end; !error && entry != end;
       entry.increment(error)) {
    if (const std::uint32_t number = number_of(entry->path().filename().native()); number != 0) {
      numbers.push_back(number);
    }
  }
  if (error) {
    failure = {.error = error.value(), .operation = "list", .path = folder.path};
  }
  std::ranges::sort(numbers);
  return numbers;
}

std::string segment_name(std::uint32_t number) {
  std::array<char, name_digits + name_ending.size() + 1> name{};
  std::snprintf(name.data(), name.size(), "%08x.log", number);
  return name.data();
}

FileFailure remove_log_folder(FileCalls& calls, const LogFolder& folder) {
  if (::rmdir(folder.path.c_str()) != 0 && errno != ENOTEMPTY && errno != EEXIST) {
    return {.error = errno, .operation = "remove", .path = folder.path};
  }
  calls.reached(CrashPoint::folder_removed);
  return {};
}

}  // namespace dovetail::staging
