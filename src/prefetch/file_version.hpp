// When a file was changed last, as its file system says.
#pragma once

#include <sys/types.h>
#include <time.h>

#include <cstdint>

namespace dovetail::prefetching {

struct FileVersion {
  timespec modified{};
  timespec changed{};
  off_t size = 0;

  /// Of an open file; one that cannot be asked has none.
  static FileVersion of(int descriptor) noexcept;
  bool operator==(const FileVersion& other) const noexcept;
  /// Nanoseconds after which a change has a time of its own.
  std::uint64_t granularity() const noexcept;
};

}  // namespace dovetail::prefetching
