#include "sole_opener.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <thread>

#include "base/without_signals.hpp"
#include "libc.hpp"
#include "within.hpp"

namespace dovetail::interpose::staged {
namespace {

// The end of a lease makes the kernel forget all of it.
bool has_settings_of_signals(int descriptor) noexcept {
  f_owner_ex owner{};
  return (libc::fcntl64(descriptor, F_GETFL) & O_ASYNC) != 0 || libc::fcntl64(descriptor, F_GETSIG) != 0 ||
         libc::fcntl64(descriptor, F_GETOWN_EX, &owner) != 0 || owner.pid != 0;
}

class ShortLease {
 public:
  // If another process opens the file meanwhile, the kernel sends SIGIO. It would end the process, or be taken for one of the program's.
  ShortLease(int descriptor, pid_t signalled) noexcept {
    const f_owner_ex owner{F_OWNER_TID, signalled};
    const f_owner_ex nobody{F_OWNER_TID, 0};
    if (libc::fcntl64(descriptor, F_SETOWN_EX, &owner) != 0) {
      return;  // the thread has ended
    }
    result_ = libc::fcntl64(descriptor, F_SETLEASE, F_WRLCK);
    error_ = errno;
    if (result_ == 0) {
      libc::fcntl64(descriptor, F_SETLEASE, F_UNLCK);
    }
    libc::fcntl64(descriptor, F_SETOWN_EX, &nobody);
  }
  bool is_given() const noexcept { return result_ == 0; }
  /// The file system has no leases, or the file belongs to another user.
  bool is_unknown() const noexcept { return result_ != 0 && error_ != EAGAIN && error_ != EBUSY; }

 private:
  int result_ = -1;
  int error_ = EAGAIN;
};

// What is sent to the thread ends with it.
ShortLease lease_of_a_thread(int descriptor) {
  const base::WithoutSignals quiet;
  std::optional<ShortLease> lease;
  std::thread([&] {
    const Within within;
    lease.emplace(descriptor, ::gettid());
  }).join();
  return *lease;
}

bool is_only_one_of_process(int descriptor) noexcept {
  struct stat own{};
  DIR* const folder = ::fstat(descriptor, &own) == 0 ? ::opendir("/proc/self/fd") : nullptr;
  if (folder == nullptr) {
    return false;
  }
  int found = 0;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread reads this folder's stream
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

bool is_sole_opener(int descriptor, pid_t signalled) {
  // A lease that the program has would be ended.
  if (libc::fcntl64(descriptor, F_GETLEASE) != F_UNLCK || has_settings_of_signals(descriptor)) {
    return false;
  }
  const ShortLease lease = signalled != 0 ? ShortLease(descriptor, signalled) : lease_of_a_thread(descriptor);
  return lease.is_given() || (lease.is_unknown() && is_only_one_of_process(descriptor));
}

}  // namespace dovetail::interpose::staged
