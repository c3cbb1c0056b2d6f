// How a file system is told what of a file will be read, and what will not be needed any more: Linux' page cache by posix_fadvise, GPFS and Lustre by libraries
// of their own (G. Congiu, sections 3.1 and 3.2).
#pragma once

#include <cstdint>

#include "prefetch/ranges.hpp"

namespace dovetail::prefetching {

/// GPFS (IBM Storage Scale) keeps files in a cache of its own, which `posix_fadvise` does not reach: it gets the hint `gpfsMultipleAccessRange_t` with blocks
/// that will be accessed and blocks to be released, 8 at a call. It takes no more hints when too many blocks were never released (section 3.1). Lustre gets the advice for
/// the client's page cache, and one for the caches of its servers (`llapi_ladvise`). Where the library is not there, a file system is told as all others are.
/// Any thread may call the functions: the object does not change.
class FileSystemHints {
 public:
  /// The function of a library; null if one of them is not there.
  using Find = void* (*)(const char* library, const char* function);
  enum class Kind { page_cache, gpfs, lustre };

  explicit FileSystemHints(Find find = load) noexcept;
  /// `type`: as statfs tells it (`f_type`).
  Kind kind_of(long type) const noexcept;
  /// Hints are ignored or refused without harm: nothing is told of errors.
  void will_need(Kind kind, int descriptor, const Range& range) const noexcept;
  void dont_need(Kind kind, int descriptor, const Range& range) const noexcept;

 private:
  using GpfsCall = int (*)(int descriptor, void* hint);
  using LustreCall = int (*)(int descriptor, unsigned long long flags, int count, void* advice);

  static void* load(const char* library, const char* function) noexcept;
  void tell_gpfs(int descriptor, const Range& range, bool releases) const noexcept;
  void tell_lustre(int descriptor, const Range& range, bool releases) const noexcept;

  GpfsCall gpfs_;
  LustreCall lustre_;
};

}  // namespace dovetail::prefetching
