#include "prefetch/file_system_hints.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

namespace dovetail::prefetching {
namespace {

constexpr long gpfs_type = 0x47504653;
constexpr long lustre_type = 0x0BD00BD0;

// The structures and numbers of gpfs_fcntl.h, which GPFS gives away with itself only.
constexpr int most_gpfs_ranges = 8;
constexpr int gpfs_version = 1;
constexpr int gpfs_multiple_access_range = 1003;
struct GpfsRange {
  long long block;  // in the file system's own size
  int start;        // in the block
  int bytes;
  int is_write;
  char padding[4];
};
struct GpfsHint {
  int bytes = sizeof(GpfsHint);
  int version = gpfs_version;
  int error_offset = 0;
  int reserved = 0;
  int hint_bytes = sizeof(GpfsHint) - 4 * sizeof(int);
  int hint = gpfs_multiple_access_range;
  int accessed = 0;
  int released = 0;
  GpfsRange accessed_ranges[most_gpfs_ranges] = {};
  GpfsRange released_ranges[most_gpfs_ranges] = {};
};
static_assert(sizeof(GpfsHint) == 32 + 16 * 24);

// Those of lustre_user.h.
constexpr unsigned long long lustre_at_once = 1;  // LF_ASYNC: the server goes on after the call
constexpr std::uint16_t lustre_will_read = 1;
constexpr std::uint16_t lustre_dont_need = 2;
struct LustreAdvice {
  std::uint16_t advice;
  std::uint16_t value1;
  std::uint32_t value2;
  std::uint64_t offset;
  std::uint64_t end;
  std::uint32_t value3;
  std::uint32_t value4;
};
static_assert(sizeof(LustreAdvice) == 32);

void advise(int descriptor, const Range& range, int advice) noexcept {
  posix_fadvise(descriptor, static_cast<off_t>(range.offset), static_cast<off_t>(range.end - range.offset), advice);
}

}  // namespace

void* FileSystemHints::load(const char* library, const char* function) noexcept {
  // Never closed: the functions are called as long as the process lives.
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  return handle == nullptr ? nullptr : dlsym(handle, function);
}

FileSystemHints::FileSystemHints(Find find) noexcept
    : gpfs_(reinterpret_cast<GpfsCall>(find("libgpfs.so", "gpfs_fcntl"))),
      lustre_(reinterpret_cast<LustreCall>(find("liblustreapi.so", "llapi_ladvise"))) {}

FileSystemHints::Kind FileSystemHints::kind_of(long type) const noexcept {
  if (type == gpfs_type && gpfs_ != nullptr) {
    return Kind::gpfs;
  }
  return type == lustre_type && lustre_ != nullptr ? Kind::lustre : Kind::page_cache;
}

void FileSystemHints::will_need(Kind kind, int descriptor, const Range& range) const noexcept {
  if (kind == Kind::gpfs) {
    tell_gpfs(descriptor, range, false);
    return;
  }
  if (kind == Kind::lustre) {
    tell_lustre(descriptor, range, false);
  }
  advise(descriptor, range, POSIX_FADV_WILLNEED);
}

void FileSystemHints::dont_need(Kind kind, int descriptor, const Range& range) const noexcept {
  if (kind == Kind::gpfs) {
    tell_gpfs(descriptor, range, true);
    return;
  }
  advise(descriptor, range, POSIX_FADV_DONTNEED);
  if (kind == Kind::lustre) {
    tell_lustre(descriptor, range, true);
  }
}

void FileSystemHints::tell_gpfs(int descriptor, const Range& range, bool releases) const noexcept {
  struct stat status{};
  if (fstat(descriptor, &status) != 0 || status.st_blksize <= 0) {
    return;
  }
  const auto block = static_cast<std::uint64_t>(status.st_blksize);
  std::uint64_t at = range.offset;
  while (at < range.end) {
    GpfsHint hint;
    GpfsRange* ranges = releases ? hint.released_ranges : hint.accessed_ranges;
    int& count = releases ? hint.released : hint.accessed;
    for (; count < most_gpfs_ranges && at < range.end; ++count) {
      const std::uint64_t end = std::min(range.end, (at / block + 1) * block);
      ranges[count] = {
          static_cast<long long>(at / block), static_cast<int>(at % block), static_cast<int>(end - at), 0, {}};
      at = end;
    }
    if (gpfs_(descriptor, &hint) != 0) {
      return;
    }
  }
}

void FileSystemHints::tell_lustre(int descriptor, const Range& range, bool releases) const noexcept {
  LustreAdvice advice{};
  advice.advice = releases ? lustre_dont_need : lustre_will_read;
  advice.offset = range.offset;
  advice.end = range.end;
  lustre_(descriptor, lustre_at_once, 1, &advice);
}

}  // namespace dovetail::prefetching
