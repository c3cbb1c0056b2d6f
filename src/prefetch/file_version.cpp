#include "prefetch/file_version.hpp"

#include <sys/stat.h>

namespace dovetail::prefetching {
namespace {

bool equal(const timespec& one, const timespec& other) noexcept {
  return one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec;
}

}  // namespace

FileVersion FileVersion::of(int descriptor) noexcept {
  struct stat status{};
  if (fstat(descriptor, &status) != 0) {
    return {};
  }
  return {status.st_mtim, status.st_ctim, status.st_size};
}

bool FileVersion::operator==(const FileVersion& other) const noexcept {
  return equal(modified, other.modified) && equal(changed, other.changed) && size == other.size;
}

// Kernels take the time of a change from a clock that ticks every 10 ms or faster; some file systems keep whole or even seconds.
std::uint64_t FileVersion::granularity() const noexcept {
  constexpr std::uint64_t of_kernels = 20'000'000;
  constexpr std::uint64_t of_seconds = 2'000'000'000;
  return modified.tv_nsec != 0 || changed.tv_nsec != 0 ? of_kernels : of_seconds;
}

}  // namespace dovetail::prefetching
