#include "staging/tier_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace dovetail::staging {
namespace {

TierLock lock_in(const std::string& tier, const char* ending) {
  const std::string path = tier + "/.dovetail-" + std::to_string(::geteuid()) + ending;
  TierLock lock;
  lock.descriptor =
      LockedDescriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600));
  struct stat status{};
  if (lock.descriptor.get() < 0 || ::fstat(lock.descriptor.get(), &status) != 0) {
    lock.failure = {.error = errno, .operation = "open", .path = path};
  } else if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid()) {
    lock.failure = {.error = EPERM, .operation = "use", .path = path, .why = "it is not a regular file of this user"};
  } else if (const int error = lock_file(lock.descriptor.get(), LOCK_EX)) {
    lock.failure = {.error = error, .operation = "lock", .path = path};
  }
  return lock;
}

}  // namespace

TierLock lock_tier(const std::string& tier) { return lock_in(tier, ".lock"); }

TierLock lock_marks(const std::string& tier) { return lock_in(tier, ".marks.lock"); }

}  // namespace dovetail::staging
