#include "staging/tier_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "staging/file_calls.hpp"

namespace dovetail::staging {
namespace {

TierLock lock_in(const std::string& tier, const char* ending) {
  const std::string path = tier + "/.dovetail-" + std::to_string(::geteuid()) + ending;
  TierLock lock;
  lock.descriptor =
      base::Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600));
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

int lock_file(int descriptor, int how) noexcept {
  return -uninterrupted([&] { return ::flock(descriptor, how) == 0 ? 0 : -errno; });
}

TierLock::~TierLock() {
  if (descriptor.get() >= 0) {
    ::flock(descriptor.get(), LOCK_UN);
  }
}

TierLock lock_tier(const std::string& tier) { return lock_in(tier, ".lock"); }

TierLock lock_marks(const std::string& tier) { return lock_in(tier, ".marks.lock"); }

}  // namespace dovetail::staging
