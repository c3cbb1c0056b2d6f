// The calls about the marks that staging leaves on files. A program that copies all attributes of a file must not copy these: the log of the copy would count
// as one that others have superseded.
#include <sys/xattr.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "libc.hpp"
#include "marks.hpp"
#include "opening.hpp"
#include "within.hpp"

using namespace dovetail::interpose::staged;

namespace {

// Of names that each end with a null. With no room, what is asked for is how much is needed: a little more does not matter.
ssize_t without_marks(char* names, std::size_t room, ssize_t bytes) noexcept {
  if (bytes <= 0 || room == 0 || !is_active()) {
    return bytes;
  }
  std::size_t kept = 0;
  for (std::size_t at = 0; at < static_cast<std::size_t>(bytes);) {
    const std::size_t length = std::strlen(names + at) + 1;
    if (!is_mark(names + at)) {
      std::memmove(names + kept, names + at, length);
      kept += length;
    }
    at += length;
  }
  return static_cast<ssize_t>(kept);
}

template <class Call>
auto unless_mark(const char* name, const Call& call) noexcept {
  if (!is_mark(name) || !is_active()) {
    return call();
  }
  errno = ENODATA;
  return decltype(call()){-1};
}

}  // namespace

DOVETAIL_CALL ssize_t listxattr(const char* path, char* names, std::size_t room) noexcept {
  return without_marks(names, room, libc::listxattr(path, names, room));
}
DOVETAIL_CALL ssize_t llistxattr(const char* path, char* names, std::size_t room) noexcept {
  return without_marks(names, room, libc::llistxattr(path, names, room));
}
DOVETAIL_CALL ssize_t flistxattr(int fd, char* names, std::size_t room) noexcept {
  return without_marks(names, room, libc::flistxattr(fd, names, room));
}
DOVETAIL_CALL ssize_t getxattr(const char* path, const char* name, void* value, std::size_t room) noexcept {
  return unless_mark(name, [&] { return libc::getxattr(path, name, value, room); });
}
DOVETAIL_CALL ssize_t lgetxattr(const char* path, const char* name, void* value, std::size_t room) noexcept {
  return unless_mark(name, [&] { return libc::lgetxattr(path, name, value, room); });
}
DOVETAIL_CALL ssize_t fgetxattr(int fd, const char* name, void* value, std::size_t room) noexcept {
  return unless_mark(name, [&] { return libc::fgetxattr(fd, name, value, room); });
}
DOVETAIL_CALL int removexattr(const char* path, const char* name) noexcept {
  return unless_mark(name, [&] { return libc::removexattr(path, name); });
}
DOVETAIL_CALL int lremovexattr(const char* path, const char* name) noexcept {
  return unless_mark(name, [&] { return libc::lremovexattr(path, name); });
}
DOVETAIL_CALL int fremovexattr(int fd, const char* name) noexcept {
  return unless_mark(name, [&] { return libc::fremovexattr(fd, name); });
}
