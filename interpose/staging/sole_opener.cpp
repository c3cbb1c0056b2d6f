#include "sole_opener.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

#include "libc.hpp"

namespace dovetail::interpose::staged {
namespace {

// Who opens the file while there is a lease has a signal sent, which would end the process. It is sent to this thread, which takes it.
class QuietLease {
 public:
  explicit QuietLease(int descriptor) noexcept : descriptor_(descriptor) {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGIO);
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGIO) == 1;
    libc::fcntl64(descriptor_, F_GETOWN_EX, &owner_before_);
    const f_owner_ex owner{F_OWNER_TID, ::gettid()};
    libc::fcntl64(descriptor_, F_SETOWN_EX, &owner);
    result_ = libc::fcntl64(descriptor_, F_SETLEASE, F_WRLCK);
    error_ = errno;
    if (result_ == 0) {
      libc::fcntl64(descriptor_, F_SETLEASE, F_UNLCK);
    }
  }
  ~QuietLease() {
    libc::fcntl64(descriptor_, F_SETOWN_EX, &owner_before_);
    const timespec at_once{};
    while (!was_pending_ && sigtimedwait(&signals_, nullptr, &at_once) == SIGIO) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  QuietLease(const QuietLease&) = delete;
  QuietLease& operator=(const QuietLease&) = delete;
  bool is_given() const noexcept { return result_ == 0; }
  /// The file system has no leases, or the file belongs to somebody else.
  bool is_unknown() const noexcept { return result_ != 0 && error_ != EAGAIN && error_ != EBUSY; }

 private:
  int descriptor_;
  f_owner_ex owner_before_{F_OWNER_TID, 0};
  sigset_t signals_{};
  sigset_t before_{};
  bool was_pending_ = false;
  int result_ = -1;
  int error_ = 0;
};

bool is_only_one_of_process(int descriptor) noexcept {
  struct stat own{};
  DIR* const folder = ::fstat(descriptor, &own) == 0 ? ::opendir("/proc/self/fd") : nullptr;
  if (folder == nullptr) {
    return false;
  }
  int found = 0;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody else reads this folder's stream
  while (const dirent* entry = ::readdir(folder)) {
    struct stat other{};
    char* end = nullptr;
    const long number = std::strtol(entry->d_name, &end, 10);
    if (*end == '\0' && end != entry->d_name && ::fstat(static_cast<int>(number), &other) == 0 &&
        other.st_dev == own.st_dev && other.st_ino == own.st_ino) {
      ++found;
    }
  }
  ::closedir(folder);
  return found == 1;
}

}  // namespace

bool is_sole_opener(int descriptor) noexcept {
  // One that the program has would be ended.
  if (libc::fcntl64(descriptor, F_GETLEASE) != F_UNLCK) {
    return false;
  }
  const QuietLease lease(descriptor);
  return lease.is_given() || (lease.is_unknown() && is_only_one_of_process(descriptor));
}

}  // namespace dovetail::interpose::staged
