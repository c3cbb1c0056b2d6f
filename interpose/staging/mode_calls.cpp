// The calls that set what a write takes off a file again: a drain that comes later would be such a write.
#include <sys/stat.h>
#include <sys/xattr.h>

#include <cstring>

#include "libc.hpp"
#include "marks.hpp"
#include "opening.hpp"
#include "within.hpp"

using namespace dovetail::interpose::staged;

namespace {

constexpr const char* lost_rights = "it gets rights that a write takes away";

// Without the right to write, only root can bring the log of a killed program into the file.
bool is_lost(mode_t mode) noexcept { return (mode & (S_ISUID | S_ISGID)) != 0 || (mode & S_IWUSR) == 0; }
bool is_lost(const char* attribute) noexcept {
  return attribute != nullptr && std::strcmp(attribute, "security.capability") == 0;
}

bool is_copied_mark(const char* attribute) noexcept { return is_mark(attribute) && is_active(); }

template <class Kind, class Call>
int set_by_name(int folder, const char* path, bool follow, const Kind& kind, const Call& call) noexcept {
  const int error = is_lost(kind) ? settle_path(folder, path, lost_rights, follow) : 0;
  return error != 0 ? fail(error) : call();
}
template <class Kind, class Call>
int set_by_descriptor(int fd, const Kind& kind, const Call& call) noexcept {
  const int error = is_lost(kind) ? settle_descriptor(fd, lost_rights) : 0;
  return error != 0 ? fail(error) : call();
}

}  // namespace

DOVETAIL_CALL int chmod(const char* path, mode_t mode) noexcept {
  return set_by_name(AT_FDCWD, path, true, mode, [&] { return libc::chmod(path, mode); });
}
DOVETAIL_CALL int fchmod(int fd, mode_t mode) noexcept {
  return set_by_descriptor(fd, mode, [&] { return libc::fchmod(fd, mode); });
}
DOVETAIL_CALL int fchmodat(int folder, const char* path, mode_t mode, int flags) noexcept {
  return set_by_name(folder, path, (flags & AT_SYMLINK_NOFOLLOW) == 0, mode,
                     [&] { return libc::fchmodat(folder, path, mode, flags); });
}
// A mark comes from a file of which all attributes are copied, and says nothing of this one.
DOVETAIL_CALL int setxattr(const char* path, const char* name, const void* value, std::size_t bytes,
                           int flags) noexcept {
  return is_copied_mark(name)
             ? 0
             : set_by_name(AT_FDCWD, path, true, name, [&] { return libc::setxattr(path, name, value, bytes, flags); });
}
DOVETAIL_CALL int lsetxattr(const char* path, const char* name, const void* value, std::size_t bytes,
                            int flags) noexcept {
  return is_copied_mark(name) ? 0 : set_by_name(AT_FDCWD, path, false, name, [&] {
    return libc::lsetxattr(path, name, value, bytes, flags);
  });
}
DOVETAIL_CALL int fsetxattr(int fd, const char* name, const void* value, std::size_t bytes, int flags) noexcept {
  return is_copied_mark(name)
             ? 0
             : set_by_descriptor(fd, name, [&] { return libc::fsetxattr(fd, name, value, bytes, flags); });
}
