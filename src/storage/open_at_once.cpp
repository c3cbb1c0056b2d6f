#include "storage/open_at_once.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "device/device.hpp"

namespace dovetail::storage {
namespace {

// Flags with which an open may have to wait for a device, or is not for an existing file.
constexpr int not_at_once = O_CREAT | O_EXCL | O_TRUNC | O_TMPFILE | O_PATH;

// Opening a FIFO or a device may wait for its other end; opening a file of a server, for the server.
bool opens_without_waiting(int found) {
  struct stat status{};
  if (fstat(found, &status) != 0 || !S_ISREG(status.st_mode)) {
    return false;
  }
  const device::Device& device = device::device_of(status.st_dev, found);
  return device.caches_writes || device.in_memory;
}

}  // namespace

int open_cached(const char* path, int flags) noexcept {
  open_how how{};
  how.flags = static_cast<unsigned>(flags);
  how.resolve = RESOLVE_CACHED;
  return static_cast<int>(syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how)));
}

int open_at_once(const char* path, int flags) {
  if ((flags & not_at_once) != 0) {
    return -1;
  }
  const base::Descriptor found(open_cached(path, O_PATH | O_CLOEXEC | (flags & O_NOFOLLOW)));
  if (found.get() < 0 || !opens_without_waiting(found.get())) {
    return -1;
  }
  // Not by way of /proc, which costs more than all of this. A FIFO put into the place of the file at this moment makes the core wait.
  return open_cached(path, flags);
}

}  // namespace dovetail::storage
