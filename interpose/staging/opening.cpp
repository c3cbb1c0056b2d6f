#include "opening.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <memory>
#include <utility>

#include "configuration.hpp"
#include "descriptors.hpp"
#include "libc.hpp"
#include "others.hpp"
#include "program_files.hpp"
#include "tell.hpp"
#include "within.hpp"

namespace dovetail::interpose::staged {
namespace {

std::string link_of(int descriptor) {
  std::array<char, PATH_MAX> path;  // most of it is never touched
  const std::string name = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t length = ::readlink(name.c_str(), path.data(), path.size());
  const bool whole = length > 0 && static_cast<std::size_t>(length) < path.size() && path[0] == '/';
  return whole ? std::string(path.data(), static_cast<std::size_t>(length)) : std::string();
}

std::string path_of(int folder, const char* path) {
  if (path == nullptr) {
    return {};
  }
  return folder == AT_FDCWD || path[0] == '/' ? path : link_of(folder) + "/" + path;
}

bool opens_other(int flags) noexcept {
  return (flags & (O_PATH | O_DIRECTORY)) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}
bool writes(int flags) noexcept { return (flags & O_ACCMODE) == O_WRONLY || (flags & O_ACCMODE) == O_RDWR; }

const FileRule* rule_of(const std::string& path) { return path.empty() ? nullptr : configuration().rule_for(path); }

// Of the calls that give a file to the program as it is on the disk.
int settle_named(const std::string& path, const struct stat64& status) {
  const FileRule* const rule = rule_of(path);
  return rule == nullptr ? 0 : settle_others(rule->tier, path, status.st_ino);
}

// No process stages it by this library, unless it is a symbolic link.
bool has_other_name(const char* path) noexcept {
  return path == nullptr || (no_files() && !configuration().may_name(path));
}

// The same of what a link leads to.
bool is_of_no_group(int folder, const char* path) noexcept {
  struct stat64 status{};
  return has_other_name(path) &&
         (path == nullptr ||
          (libc::fstatat64(folder, path, &status, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISLNK(status.st_mode)));
}

void add(int descriptor, const std::shared_ptr<ProgramFile>& file, int flags) {
  try {
    auto description = std::make_shared<Description>();
    description->file = file;
    description->flags = flags;
    add_description(descriptor, std::move(description));
  } catch (const std::exception&) {
    close_file(file);
    throw;
  }
}

int empty(int descriptor, const std::shared_ptr<ProgramFile>& file) {
  const ProgramFile::Use use = file != nullptr ? file->use() : ProgramFile::Use();
  if (use.is_staged()) {
    return use.size() != 0 ? use.set_size(0) : 0;
  }
  return libc::ftruncate64(descriptor, 0) == 0 ? 0 : errno;
}

}  // namespace

bool is_active() noexcept { return !Within::is_now() && is_own_process() && !configuration().is_empty(); }

std::string real_path(int folder, const char* path) noexcept {
  try {
    const std::string name = path_of(folder, path);
    // NOLINTNEXTLINE(cppcoreguidelines-no-malloc): that is how it is given
    const std::unique_ptr<char, decltype(&std::free)> real(::realpath(name.c_str(), nullptr), &std::free);
    return real == nullptr ? std::string() : std::string(real.get());
  } catch (const std::exception&) {
    return {};
  }
}

Opening::Opening(int folder, const char* path, int flags) noexcept
    : is_active_(is_active() && !opens_other(flags)), flags_(flags) {
  if (!is_active_ || (flags & O_TRUNC) == 0) {
    return;
  }
  const KeptErrno kept;
  struct stat64 status{};
  if (is_of_no_group(folder, path) || libc::fstatat64(folder, path, &status, 0) != 0 || !S_ISREG(status.st_mode)) {
    return;
  }
  if (const std::shared_ptr<ProgramFile> file = find_file(identity_of(status))) {
    if (writes(flags)) {
      empties_ = true;
      flags_ &= ~O_TRUNC;
    } else {
      error_ = settle_file(file, "it was emptied by an opening for reading");
    }
    return;
  }
  try {
    error_ = settle_named(real_path(folder, path), status);
  } catch (const std::exception&) {
    error_ = ENOMEM;
  }
}

int Opening::opened(int descriptor) noexcept {
  if (descriptor < 0 || !is_active_) {
    return descriptor;
  }
  int error = 0;
  {
    const KeptErrno kept;
    error = look_at(descriptor);
  }
  if (error == 0) {
    return descriptor;
  }
  remove_description(descriptor);
  const Within within;
  libc::close(descriptor);
  return fail(error);
}

int Opening::look_at(int descriptor) const noexcept {
  try {
    // Of most files the name is enough. Where something is staged, the name may have been given to another file.
    std::string path = no_files() && !empties_ ? link_of(descriptor) : std::string();
    if (!path.empty() && rule_of(path) == nullptr) {
      return 0;
    }
    struct stat64 status{};
    if (libc::fstat64(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
      return 0;
    }
    std::shared_ptr<ProgramFile> file = open_known_file(identity_of(status));
    if (file == nullptr) {
      path = path.empty() ? link_of(descriptor) : std::move(path);
      const FileRule* const rule = rule_of(path);
      if (rule != nullptr && status.st_nlink != 0) {
        int error = settle_others(rule->tier, path, status.st_ino);
        error = error != 0 ? error : settle_elsewhere(rule->tier, path, descriptor, writes(flags_));
        if (error != 0) {
          return error;
        }
        file = writes(flags_) && (flags_ & O_DIRECT) == 0 ? open_file(identity_of(status), path, *rule) : nullptr;
      }
    }
    const Within within;
    if (file != nullptr) {
      add(descriptor, file, flags_);
      if ((flags_ & O_DIRECT) != 0) {
        file->give_up("it was opened with O_DIRECT");
      }
    }
    return empties_ ? empty(descriptor, file) : 0;
  } catch (const std::exception&) {
    return ENOMEM;
  }
}

int opened_new(int descriptor) noexcept {
  if (descriptor < 0 || !is_active()) {
    return descriptor;
  }
  return Opening(AT_FDCWD, nullptr, libc::fcntl64(descriptor, F_GETFL)).opened(descriptor);
}

int settle_path(int folder, const char* path, const char* why, bool follow) noexcept {
  if ((!follow && has_other_name(path)) || !is_active()) {
    return 0;
  }
  const KeptErrno kept;
  struct stat64 status{};
  const int flags = follow ? 0 : AT_SYMLINK_NOFOLLOW;
  if ((follow && is_of_no_group(folder, path)) || libc::fstatat64(folder, path, &status, flags) != 0 ||
      !S_ISREG(status.st_mode)) {
    return 0;
  }
  if (const std::shared_ptr<ProgramFile> file = find_file(identity_of(status))) {
    return settle_file(file, why);
  }
  try {
    return settle_named(real_path(folder, path), status);
  } catch (const std::exception&) {
    return ENOMEM;
  }
}

void recover_ended(int folder, const char* path) noexcept {
  struct stat64 status{};
  const KeptErrno kept;
  if (has_other_name(path) || !is_active() || libc::fstatat64(folder, path, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
      !S_ISREG(status.st_mode)) {
    return;
  }
  try {
    const std::string name = real_path(folder, path);
    if (const FileRule* const rule = rule_of(name)) {
      settle_ended(rule->tier, name, status.st_ino);
    }
  } catch (const std::exception&) {
    tell("there is no memory to look for what was staged of a file that is removed");
  }
}

int settle_opened(int descriptor, const char* why) noexcept {
  if (!is_active()) {
    return 0;
  }
  const KeptErrno kept;
  try {
    std::string path = no_files() ? link_of(descriptor) : std::string();
    if (!path.empty() && rule_of(path) == nullptr) {
      return 0;
    }
    struct stat64 status{};
    if (libc::fstat64(descriptor, &status) != 0 || !S_ISREG(status.st_mode) || status.st_nlink == 0) {
      return 0;
    }
    if (const std::shared_ptr<ProgramFile> file = find_file(identity_of(status))) {
      return settle_file(file, why);
    }
    return settle_named(path.empty() ? link_of(descriptor) : path, status);
  } catch (const std::exception&) {
    return ENOMEM;
  }
}

int settle_descriptor(int descriptor, const char* why) noexcept {
  if (no_files() || !is_active()) {
    return 0;
  }
  const KeptErrno kept;
  struct stat64 status{};
  const bool is_regular = libc::fstat64(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  const std::shared_ptr<ProgramFile> file = is_regular ? find_file(identity_of(status)) : nullptr;
  return file != nullptr ? settle_file(file, why) : 0;
}

}  // namespace dovetail::interpose::staged
