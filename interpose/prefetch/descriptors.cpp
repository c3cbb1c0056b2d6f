#include "descriptors.hpp"

#include <fcntl.h>
#include <sys/stat.h>

namespace dovetail::prefetch {

constinit Descriptor descriptors[most_descriptors];
constinit std::atomic<bool> active{false};

bool look_at(int descriptor, FileIdentity& identity) noexcept {
  struct stat status{};
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0) {
    return false;
  }
  const int flags = fcntl(descriptor, F_GETFL);
  if (flags < 0 || (flags & (O_DIRECT | O_PATH)) != 0 || (flags & O_ACCMODE) == O_WRONLY) {
    return false;
  }
  identity = {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
              static_cast<std::uint64_t>(status.st_mtim.tv_sec), static_cast<std::uint64_t>(status.st_mtim.tv_nsec)};
  return true;
}

void forget_from(unsigned first, unsigned last) noexcept {
  for (unsigned number = first; number < most_descriptors && number <= last; ++number) {
    forget(static_cast<int>(number));
  }
}

}  // namespace dovetail::prefetch
