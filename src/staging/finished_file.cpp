// The end of a log whose file is still in use, or was removed.
#include <sys/file.h>
#include <sys/stat.h>

#include "staging/placement.hpp"
#include "staging/tiered_file.hpp"

namespace dovetail::staging {

FileFailure TieredFile::forget() {
  const base::LockGuard one(draining_);
  FileFailure failure = log_.remove_all();
  return failure ? failure : remove_placement(calls_, log_.folder());
}

bool TieredFile::is_removed() const noexcept {
  struct stat status{};
  return ::fstat(descriptor_.get(), &status) == 0 && status.st_nlink == 0;
}

void TieredFile::release() noexcept { ::flock(log_.folder().descriptor.get(), LOCK_UN); }

}  // namespace dovetail::staging
