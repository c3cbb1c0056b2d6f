#include "descriptors.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "libc.hpp"
#include "recorder.hpp"
#include "replayer.hpp"

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

Descriptor* classify(int descriptor) noexcept {
  const int error = errno;
  Descriptor& found = descriptors[descriptor];
  FileIdentity identity{};
  std::uint32_t state = Descriptor::ignored;
  if (look_at(descriptor, identity)) {
    state = recorder.on() ? recorder.begin(descriptor, found, identity) : replayer.begin(descriptor, found, identity);
  }
  found.state.store(state, std::memory_order_release);
  if (state != Descriptor::ignored && !recorder.on()) {
    replayer.go_on(descriptor, state);
  }
  errno = error;
  return state == Descriptor::ignored ? nullptr : &found;
}

void forget_from(unsigned first, unsigned last) noexcept {
  for (unsigned number = first; number < most_descriptors && number <= last; ++number) {
    forget(static_cast<int>(number));
  }
}

}  // namespace dovetail::prefetch
