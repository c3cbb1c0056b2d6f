#include "descriptors.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include <array>
#include <cerrno>
#include <new>
#include <utility>

#include "base/mutex.hpp"
#include "base/spin_lock.hpp"
#include "dovetail/failure.hpp"

namespace dovetail::omp {
namespace {

constexpr unsigned misses_before_doubt = 8;
constexpr unsigned doubtful_tries = 16;

// A descriptor has one place; two that share it throw each other out, which costs time only.
struct alignas(64) Place {
  base::SpinLock lock;
  int descriptor GUARDED_BY(lock) = -1;
  int flags GUARDED_BY(lock) = 0;
  dev_t device GUARDED_BY(lock) = 0;
  ino_t inode GUARDED_BY(lock) = 0;
  bool in_memory GUARDED_BY(lock) = false;
  unsigned misses GUARDED_BY(lock) = 0;
  File file GUARDED_BY(lock);
};
using Places = std::array<Place, 256>;

Places* places = new Places;  // Never destroyed: requests may end while the program does.

Place& place_of(int descriptor) noexcept { return (*places)[static_cast<unsigned>(descriptor) % places->size()]; }

bool lies_in_memory(int descriptor) noexcept {
  struct statfs system{};
  return fstatfs(descriptor, &system) == 0 && (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC);
}

}  // namespace

Found find_file(int descriptor) noexcept {
  Found found;
  struct stat status{};
  const int flags = fcntl(descriptor, F_GETFL);
  if (flags < 0 || fstat(descriptor, &status) != 0) {
    found.error = errno;
    return found;
  }
  if (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)) {
    found.error = ESPIPE;  // the calls here have an offset, as those of the system
    return found;
  }
  found.direct = (flags & O_DIRECT) != 0;
  Place& place = place_of(descriptor);
  {
    const base::LockGuard lock(place.lock);
    if (place.descriptor == descriptor && place.flags == flags && place.device == status.st_dev &&
        place.inode == status.st_ino) {
      found.file = place.file;
      found.in_memory = place.in_memory;
      // After this many misses in a row, only now and then.
      found.expects_hit = place.misses < misses_before_doubt;
      if (!found.expects_hit) {
        ++place.misses;
        found.expects_hit = place.misses % doubtful_tries == 0;
      }
      return found;
    }
  }
  try {
    found.file = File::from_descriptor(descriptor);
  } catch (const IoError& error) {
    found.error = error.code().value();
    return found;
  } catch (...) {
    found.error = ENOMEM;
    return found;
  }
  found.in_memory = lies_in_memory(descriptor);
  found.expects_hit = true;
  File previous = found.file;
  const base::LockGuard lock(place.lock);
  place.descriptor = descriptor;
  place.flags = flags;
  place.device = status.st_dev;
  place.inode = status.st_ino;
  place.in_memory = found.in_memory;
  place.misses = 0;
  std::swap(place.file, previous);
  return found;
}

void note_hit(int descriptor, bool hit) noexcept {
  Place& place = place_of(descriptor);
  const base::LockGuard lock(place.lock);
  if (place.descriptor == descriptor) {
    place.misses = hit ? 0 : place.misses + 1;
  }
}

void forget_files() noexcept {
  for (Place& place : *places) {
    File previous;
    const base::LockGuard lock(place.lock);
    place.descriptor = -1;
    std::swap(place.file, previous);
  }
}

void abandon_files() noexcept { places = new (std::nothrow) Places; }

}  // namespace dovetail::omp
