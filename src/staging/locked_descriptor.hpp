// Locks of files and folders that processes take (flock).
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <utility>

#include "base/descriptor.hpp"

namespace dovetail::staging {

/// As flock, and goes on after a signal. An errno, or 0.
int lock_file(int descriptor, int how) noexcept;

/// A descriptor whose lock ends with it. A child of a fork has a copy of the descriptor: that does not keep the lock, nor does the end of the copy end it.
class LockedDescriptor {
 public:
  explicit LockedDescriptor(int number = -1) noexcept : descriptor_(number), process_(::getpid()) {}
  LockedDescriptor(LockedDescriptor&&) noexcept = default;
  LockedDescriptor& operator=(LockedDescriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(process_, other.process_);
    return *this;
  }
  ~LockedDescriptor();
  /// -1: there is none.
  int get() const noexcept { return descriptor_.get(); }

 private:
  base::Descriptor descriptor_;
  pid_t process_;
};

}  // namespace dovetail::staging
