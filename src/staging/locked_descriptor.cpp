#include "staging/locked_descriptor.hpp"

#include <sys/file.h>

#include <cerrno>

#include "staging/file_calls.hpp"

namespace dovetail::staging {

int lock_file(int descriptor, int how) noexcept {
  return -uninterrupted([&] { return ::flock(descriptor, how) == 0 ? 0 : -errno; });
}

LockedDescriptor::~LockedDescriptor() {
  if (get() >= 0 && process_ == ::getpid()) {
    ::flock(get(), LOCK_UN);
  }
}

}  // namespace dovetail::staging
