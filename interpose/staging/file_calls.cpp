// The calls about the size, the position, the durability and the state of files.
#include <pthread.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <memory>

#include "descriptors.hpp"
#include "libc.hpp"
#include "opening.hpp"
#include "program_files.hpp"
#include "within.hpp"

using namespace dovetail::interpose::staged;

namespace {

// The file stays as it is while either is called.
template <class Staged, class Plain>
auto by_descriptor(int fd, const Staged& staged, const Plain& plain) {
  const DescriptionInUse description = description_of(fd);
  const ProgramFile::Use use = description != nullptr ? description->file->use() : ProgramFile::Use();
  return use.is_staged() ? staged(use, *description) : plain();
}

// Where it is not staged, what was called is called.
template <class Plain>
auto given_up(int fd, const char* why, const Plain& plain) {
  const int error = settle_descriptor(fd, why);
  if (error != 0) {
    errno = error;
    return decltype(plain())(-1);
  }
  return plain();
}

bool may_write(const Description& description) noexcept { return (description.flags & O_ACCMODE) != O_RDONLY; }

template <class Plain>
int make_durable(int fd, const Plain& plain) {
  if (description_of(fd) != nullptr) {
    pthread_testcancel();
  }
  return by_descriptor(fd, [](const ProgramFile::Use& use, Description&) { return result_of(use.sync()); }, plain);
}

// Not by its identity: the drain looks at the file as well, by a descriptor of its own, and has to see what there is.
template <class Status, class Look>
int look_by_descriptor(int fd, Status* status, const Look& look) {
  const DescriptionInUse description = description_of(fd);
  const ProgramFile::Use use = description != nullptr ? description->file->use() : ProgramFile::Use();
  const int result = look();
  if (result == 0 && use.is_staged()) {
    const KeptErrno kept;
    use.correct(*status);
  }
  return result;
}

using dovetail::interpose::staged::identity_of;
FileIdentity identity_of(const struct statx& status) noexcept {
  return {makedev(status.stx_dev_major, status.stx_dev_minor), status.stx_ino};
}
bool is_file(const struct stat64& status) noexcept { return S_ISREG(status.st_mode); }
bool is_file(const struct statx& status) noexcept { return S_ISREG(status.stx_mode); }

// What was seen of a file that was drained meanwhile, by another thread, is old.
template <class Status, class Look>
int look_by_name(Status* status, const Look& look) {
  if (no_files() || Within::is_now()) {
    return look();
  }
  for (;;) {
    const unsigned ends = ProgramFile::ends();
    const int result = look();
    if (result != 0 || !is_file(*status)) {
      return result;
    }
    const KeptErrno kept;
    const std::shared_ptr<ProgramFile> file = find_file(identity_of(*status));
    const ProgramFile::Use use = file != nullptr ? file->use() : ProgramFile::Use();
    if (use.is_staged()) {
      use.correct(*status);
      return 0;
    }
    if (ends == ProgramFile::ends()) {
      return 0;
    }
  }
}
bool is_of_descriptor(const char* path, int flags) noexcept {
  return (flags & AT_EMPTY_PATH) != 0 && (path == nullptr || *path == '\0');
}

}  // namespace

DOVETAIL_CALL off64_t lseek64(int fd, off64_t offset, int whence) noexcept {
  const auto plain = [&] { return libc::lseek64(fd, offset, whence); };
  return by_descriptor(
      fd,
      [&](const ProgramFile::Use& use, Description& description) {
        const dovetail::base::LockGuard lock(description.position);
        if (whence == SEEK_END) {
          off64_t to = 0;
          if (__builtin_add_overflow(static_cast<off64_t>(use.size()), offset, &to)) {
            errno = EOVERFLOW;
            return off64_t{-1};
          }
          return libc::lseek64(fd, to < 0 ? -1 : to, SEEK_SET);
        }
        if ((whence == SEEK_HOLE || whence == SEEK_DATA) && use.drain() != 0) {
          errno = EIO;
          return off64_t{-1};
        }
        return plain();
      },
      plain);
}

DOVETAIL_CALL int fsync(int fd) {
  return make_durable(fd, [&] { return libc::fsync(fd); });
}
DOVETAIL_CALL int fdatasync(int fd) {
  return make_durable(fd, [&] { return libc::fdatasync(fd); });
}
DOVETAIL_CALL int sync_file_range(int fd, off64_t offset, off64_t bytes, unsigned flags) {
  return make_durable(fd, [&] { return libc::sync_file_range(fd, offset, bytes, flags); });
}
DOVETAIL_CALL int syncfs(int fd) noexcept {
  const int error = sync_all();
  const int result = libc::syncfs(fd);
  return result == 0 && error != 0 ? fail(error) : result;
}
DOVETAIL_CALL int ftruncate64(int fd, off64_t size) noexcept {
  const auto plain = [&] { return libc::ftruncate64(fd, size); };
  return by_descriptor(
      fd,
      [&](const ProgramFile::Use& use, Description& description) {
        return size < 0 || !may_write(description) ? plain()
                                                   : result_of(use.set_size(static_cast<std::uint64_t>(size)));
      },
      plain);
}
DOVETAIL_CALL int fallocate64(int fd, int mode, off64_t offset, off64_t bytes) {
  return given_up(fd, "its space is reserved (fallocate)", [&] { return libc::fallocate64(fd, mode, offset, bytes); });
}
DOVETAIL_CALL int posix_fallocate64(int fd, off64_t offset, off64_t bytes) {
  const int error = settle_descriptor(fd, "its space is reserved (posix_fallocate)");
  return error != 0 ? error : libc::posix_fallocate64(fd, offset, bytes);
}

DOVETAIL_CALL int fstat64(int fd, struct stat64* status) noexcept {
  return look_by_descriptor(fd, status, [&] { return libc::fstat64(fd, status); });
}
DOVETAIL_CALL int stat64(const char* path, struct stat64* status) noexcept {
  return look_by_name(status, [&] { return libc::stat64(path, status); });
}
DOVETAIL_CALL int lstat64(const char* path, struct stat64* status) noexcept {
  return look_by_name(status, [&] { return libc::lstat64(path, status); });
}
DOVETAIL_CALL int fstatat64(int folder, const char* path, struct stat64* status, int flags) noexcept {
  const auto look = [&] { return libc::fstatat64(folder, path, status, flags); };
  return is_of_descriptor(path, flags) ? look_by_descriptor(folder, status, look) : look_by_name(status, look);
}
DOVETAIL_CALL int __fxstat64(int version, int fd, struct stat64* status) {
  return look_by_descriptor(fd, status, [&] { return libc::__fxstat64(version, fd, status); });
}
DOVETAIL_CALL int __xstat64(int version, const char* path, struct stat64* status) {
  return look_by_name(status, [&] { return libc::__xstat64(version, path, status); });
}
DOVETAIL_CALL int __lxstat64(int version, const char* path, struct stat64* status) {
  return look_by_name(status, [&] { return libc::__lxstat64(version, path, status); });
}
DOVETAIL_CALL int __fxstatat64(int version, int folder, const char* path, struct stat64* status, int flags) {
  const auto look = [&] { return libc::__fxstatat64(version, folder, path, status, flags); };
  return is_of_descriptor(path, flags) ? look_by_descriptor(folder, status, look) : look_by_name(status, look);
}
DOVETAIL_CALL int statx(int folder, const char* path, int flags, unsigned mask, struct statx* status) noexcept {
  const auto look = [&] { return libc::statx(folder, path, flags, mask | STATX_INO | STATX_TYPE, status); };
  return is_of_descriptor(path, flags) ? look_by_descriptor(folder, status, look) : look_by_name(status, look);
}

extern "C" {
off_t lseek(int, off_t, int) noexcept DOVETAIL_ALIAS("lseek64");
int ftruncate(int, off_t) noexcept DOVETAIL_ALIAS("ftruncate64");
int fallocate(int, int, off_t, off_t) DOVETAIL_ALIAS("fallocate64");
int posix_fallocate(int, off_t, off_t) DOVETAIL_ALIAS("posix_fallocate64");
int fstat(int, struct stat*) noexcept DOVETAIL_ALIAS("fstat64");
int stat(const char*, struct stat*) noexcept DOVETAIL_ALIAS("stat64");
int lstat(const char*, struct stat*) noexcept DOVETAIL_ALIAS("lstat64");
int fstatat(int, const char*, struct stat*, int) noexcept DOVETAIL_ALIAS("fstatat64");
int __fxstat(int, int, struct stat*) DOVETAIL_ALIAS("__fxstat64");
int __xstat(int, const char*, struct stat*) DOVETAIL_ALIAS("__xstat64");
int __lxstat(int, const char*, struct stat*) DOVETAIL_ALIAS("__lxstat64");
int __fxstatat(int, int, const char*, struct stat*, int) DOVETAIL_ALIAS("__fxstatat64");
}
