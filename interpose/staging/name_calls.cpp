// The calls that change the names of files: their logs know them by name, so that what is staged is drained before.
#include <cerrno>

#include "libc.hpp"
#include "opening.hpp"
#include "program_files.hpp"
#include "staging_pauses.hpp"
#include "within.hpp"

using namespace dovetail::interpose::staged;

namespace {

constexpr bool as_link = false;

// Those in it get other paths.
int settle_in_folder(int folder, const char* path) noexcept {
  struct stat64 status{};
  if (no_files() || !is_active() || path == nullptr) {
    return 0;
  }
  const KeptErrno kept;
  const bool is_folder = libc::fstatat64(folder, path, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
  return is_folder ? settle_below(real_path(folder, path), "a folder gets another name") : 0;
}

template <class Call>
int renamed(int old_folder, const char* old_path, int new_folder, const char* new_path, const Call& call) {
  const StagingPause pause;
  int error = settle_path(old_folder, old_path, "it gets another name", as_link);
  error = error != 0 ? error : settle_in_folder(old_folder, old_path);
  error = error != 0 ? error : settle_path(new_folder, new_path, "another file takes its name", as_link);
  error = error != 0 ? error : settle_in_folder(new_folder, new_path);  // the two may be exchanged
  return error != 0 ? fail(error) : call();
}

template <class Call>
int linked(int folder, const char* path, bool follow, const Call& call) {
  const StagingPause pause;
  const int error = settle_path(folder, path, "it gets another name", follow);
  return error != 0 ? fail(error) : call();
}

// What was closed and has no other name need not be drained.
template <class Call>
int unlinked(int folder, const char* path, const Call& call) {
  struct stat64 status{};
  std::shared_ptr<ProgramFile> file;
  if (!no_files() && is_active() && path != nullptr) {
    const KeptErrno kept;
    file = libc::fstatat64(folder, path, &status, AT_SYMLINK_NOFOLLOW) == 0 ? find_file(identity_of(status)) : nullptr;
  }
  if (file == nullptr) {
    recover_ended(folder, path);
    return call();
  }
  const bool is_dropped = status.st_nlink == 1 && begin_removal(*file);
  if (!is_dropped) {
    const int error = settle_file(file, "it is removed");
    return error != 0 ? fail(error) : call();
  }
  const int result = call();
  const KeptErrno kept;
  end_removal(*file, result == 0);
  return result;
}

}  // namespace

DOVETAIL_CALL int rename(const char* old_path, const char* new_path) noexcept {
  return renamed(AT_FDCWD, old_path, AT_FDCWD, new_path, [&] { return libc::rename(old_path, new_path); });
}
DOVETAIL_CALL int renameat(int old_folder, const char* old_path, int new_folder, const char* new_path) noexcept {
  return renamed(old_folder, old_path, new_folder, new_path,
                 [&] { return libc::renameat(old_folder, old_path, new_folder, new_path); });
}
DOVETAIL_CALL int renameat2(int old_folder, const char* old_path, int new_folder, const char* new_path,
                            unsigned flags) noexcept {
  return renamed(old_folder, old_path, new_folder, new_path,
                 [&] { return libc::renameat2(old_folder, old_path, new_folder, new_path, flags); });
}
DOVETAIL_CALL int link(const char* old_path, const char* new_path) noexcept {
  return linked(AT_FDCWD, old_path, as_link, [&] { return libc::link(old_path, new_path); });
}
DOVETAIL_CALL int linkat(int old_folder, const char* old_path, int new_folder, const char* new_path,
                         int flags) noexcept {
  return linked(old_folder, old_path, (flags & AT_SYMLINK_FOLLOW) != 0,
                [&] { return libc::linkat(old_folder, old_path, new_folder, new_path, flags); });
}
DOVETAIL_CALL int unlink(const char* path) noexcept {
  return unlinked(AT_FDCWD, path, [&] { return libc::unlink(path); });
}
DOVETAIL_CALL int unlinkat(int folder, const char* path, int flags) noexcept {
  return unlinked(folder, path, [&] { return libc::unlinkat(folder, path, flags); });
}
DOVETAIL_CALL int remove(const char* path) noexcept {
  return unlinked(AT_FDCWD, path, [&] { return libc::remove(path); });
}

DOVETAIL_CALL int truncate64(const char* path, off64_t size) noexcept {
  struct stat64 status{};
  if (!no_files() && is_active() && size >= 0 && libc::stat64(path, &status) == 0) {
    const std::shared_ptr<ProgramFile> file = find_file(identity_of(status));
    const ProgramFile::Use use = file != nullptr ? file->use() : ProgramFile::Use();
    if (use.is_staged() && ::access(path, W_OK) == 0) {
      const int error = use.set_size(static_cast<std::uint64_t>(size));
      return error != 0 ? fail(error) : 0;
    }
  }
  const int error = settle_path(AT_FDCWD, path, "its size is set by name");
  return error != 0 ? fail(error) : libc::truncate64(path, size);
}
extern "C" int truncate(const char*, off_t) noexcept DOVETAIL_ALIAS("truncate64");
