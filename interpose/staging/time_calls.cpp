// The calls that set the times of files: a drain, which comes later, must not change them.
#include <ctime>

#include "libc.hpp"
#include "program_files.hpp"
#include "within.hpp"

using namespace dovetail::interpose::staged;

namespace {

std::shared_ptr<ProgramFile> named(int folder, const char* path, int flags) noexcept {
  struct stat64 status{};
  const KeptErrno kept;
  const bool found = !no_files() && !Within::is_now() && path != nullptr &&
                     libc::fstatat64(folder, path, &status, flags & (AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)) == 0;
  return found ? find_file(identity_of(status)) : nullptr;
}

std::shared_ptr<ProgramFile> opened(int fd) noexcept {
  struct stat64 status{};
  const KeptErrno kept;
  const bool found = !no_files() && !Within::is_now() && libc::fstat64(fd, &status) == 0;
  return found ? find_file(identity_of(status)) : nullptr;
}

// `time`: null is now.
int set(const std::shared_ptr<ProgramFile>& file, int result, const timespec* time) noexcept {
  if (file != nullptr && result == 0 && (time == nullptr || time->tv_nsec != UTIME_OMIT)) {
    file->set_modified(time == nullptr || time->tv_nsec == UTIME_NOW ? nullptr : time);
  }
  return result;
}
int set(const std::shared_ptr<ProgramFile>& file, int result, const timeval* times) noexcept {
  if (times == nullptr) {
    return set(file, result, static_cast<const timespec*>(nullptr));
  }
  const timespec time{times[1].tv_sec, times[1].tv_usec * 1000};
  return set(file, result, &time);
}
const timespec* last_change(const timespec* times) noexcept { return times == nullptr ? nullptr : times + 1; }

// The C library declares that it never is, and the system takes a null for the descriptor itself.
bool is_null(const char* path) noexcept { return path == nullptr; }

}  // namespace

DOVETAIL_CALL int utimensat(int folder, const char* path, const timespec* times, int flags) noexcept {
  const auto file = is_null(path) ? opened(folder) : named(folder, path, flags);
  return set(file, libc::utimensat(folder, path, times, flags), last_change(times));
}
DOVETAIL_CALL int futimens(int fd, const timespec* times) noexcept {
  return set(opened(fd), libc::futimens(fd, times), last_change(times));
}
DOVETAIL_CALL int utimes(const char* path, const timeval* times) noexcept {
  return set(named(AT_FDCWD, path, 0), libc::utimes(path, times), times);
}
DOVETAIL_CALL int lutimes(const char* path, const timeval* times) noexcept {
  return set(named(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW), libc::lutimes(path, times), times);
}
DOVETAIL_CALL int futimes(int fd, const timeval* times) noexcept {
  return set(opened(fd), libc::futimes(fd, times), times);
}
DOVETAIL_CALL int futimesat(int folder, const char* path, const timeval* times) noexcept {
  const auto file = is_null(path) ? opened(folder) : named(folder, path, 0);
  return set(file, libc::futimesat(folder, path, times), times);
}
DOVETAIL_CALL int utime(const char* path, const utimbuf* times) noexcept {
  const timespec time{times == nullptr ? 0 : times->modtime, 0};
  return set(named(AT_FDCWD, path, 0), libc::utime(path, times), times == nullptr ? nullptr : &time);
}
