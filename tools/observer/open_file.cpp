#include "open_file.hpp"

#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/vfs.h>

#include <cstdio>

namespace dovetail::observer {

prefetching::FileIdentity identity_of(const struct stat& status) noexcept {
  return {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
          static_cast<std::uint64_t>(status.st_mtim.tv_sec), static_cast<std::uint64_t>(status.st_mtim.tv_nsec)};
}

int open_regular(const char* path, const struct stat& status) noexcept {
  // With O_PATH nothing is opened: it may be a device by now.
  const int found = open(path, O_PATH | O_NOCTTY | O_CLOEXEC);
  if (found < 0) {
    return -1;
  }
  struct stat now{};
  struct statfs file_system{};
  const bool same = fstat(found, &now) == 0 && S_ISREG(now.st_mode) && now.st_dev == status.st_dev &&
                    now.st_ino == status.st_ino && fstatfs(found, &file_system) == 0 &&
                    file_system.f_type != NFS_SUPER_MAGIC;
  char way[32];
  std::snprintf(way, sizeof way, "/proc/self/fd/%d", found);
  const int opened = same ? open(way, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;
  close(found);
  return opened;
}

std::size_t most_files() noexcept {
  constexpr std::size_t others = 64;
  rlimit limit{};
  const bool known = getrlimit(RLIMIT_NOFILE, &limit) == 0;
  return !known || limit.rlim_cur <= 2 * others ? others : static_cast<std::size_t>(limit.rlim_cur) - others;
}

}  // namespace dovetail::observer
