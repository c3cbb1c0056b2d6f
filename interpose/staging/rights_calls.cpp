// The calls after which the process has other rights, or paths lead elsewhere: it could not bring what is staged into its files any more.
#include <sched.h>
#include <unistd.h>

#include "libc.hpp"
#include "opening.hpp"
#include "program_files.hpp"
#include "staging_pauses.hpp"
#include "within.hpp"

using namespace dovetail::interpose::staged;

namespace {

constexpr const char* other_rights = "the program changes its rights, or its root";

// Nothing becomes staged any more, if it succeeds and has changed something.
template <class Call, class Changed>
int change(const Call& call, const Changed& has_changed) noexcept {
  if (!is_active()) {
    return call();
  }
  const StagingPause pause;
  if (!no_files()) {
    const KeptErrno kept;
    finish_all(other_rights);
  }
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  const int result = call();
  if (result == 0 && (has_changed() || user != ::geteuid() || group != ::getegid())) {
    staging_is_over = true;
  }
  return result;
}
constexpr auto by_identity = [] { return false; };
constexpr auto always = [] { return true; };

}  // namespace

DOVETAIL_CALL int setuid(uid_t user) noexcept {
  return change([&] { return libc::setuid(user); }, by_identity);
}
DOVETAIL_CALL int seteuid(uid_t user) noexcept {
  return change([&] { return libc::seteuid(user); }, by_identity);
}
DOVETAIL_CALL int setreuid(uid_t real, uid_t effective) noexcept {
  return change([&] { return libc::setreuid(real, effective); }, by_identity);
}
DOVETAIL_CALL int setresuid(uid_t real, uid_t effective, uid_t saved) noexcept {
  return change([&] { return libc::setresuid(real, effective, saved); }, by_identity);
}
DOVETAIL_CALL int setgid(gid_t group) noexcept {
  return change([&] { return libc::setgid(group); }, by_identity);
}
DOVETAIL_CALL int setegid(gid_t group) noexcept {
  return change([&] { return libc::setegid(group); }, by_identity);
}
DOVETAIL_CALL int setregid(gid_t real, gid_t effective) noexcept {
  return change([&] { return libc::setregid(real, effective); }, by_identity);
}
DOVETAIL_CALL int setresgid(gid_t real, gid_t effective, gid_t saved) noexcept {
  return change([&] { return libc::setresgid(real, effective, saved); }, by_identity);
}
DOVETAIL_CALL int chroot(const char* path) noexcept {
  return change([&] { return libc::chroot(path); }, always);
}
DOVETAIL_CALL int unshare(int flags) noexcept {
  return change([&] { return libc::unshare(flags); }, [&] { return (flags & (CLONE_NEWNS | CLONE_NEWUSER)) != 0; });
}
DOVETAIL_CALL int setns(int fd, int kind) noexcept {
  return change([&] { return libc::setns(fd, kind); }, always);
}
