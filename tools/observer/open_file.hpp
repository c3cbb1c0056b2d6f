// A file that advice is given about, as `give_plan`, `give_advice` and `give_detected` want it.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "prefetch/page_cache.hpp"
#include "prefetch/plan.hpp"

namespace dovetail::observer {

/// What tells this version of a file from others.
prefetching::FileIdentity identity_of(const struct stat& status) noexcept;

/// Opens a regular file to read, with no effect if it is none. `status`: as it was seen by that path; another file is not opened. Nor is one on NFS: where a file that
/// another process has open cannot be removed as usual, the program would notice. The caller closes it. -1: see above.
int open_regular(const char* path, const struct stat& status) noexcept;

/// Files that may be open at a time: some descriptors are left for the kernel's events.
std::size_t most_files() noexcept;

struct OpenFile {
  int descriptor;
  std::uint32_t piece;                // bytes of one advice
  std::atomic<std::uint64_t>& asked;  // bytes that the system was asked to read
  const std::function<bool()>& stop;  // asked in between, whether to end at once

  std::int64_t cached_pages(const prefetching::Range& range) const noexcept {
    return prefetching::cached_pages(descriptor, range, syscall);
  }
  bool has_the_file() const noexcept { return true; }
  bool will_need(const prefetching::Range& range) const {
    return prefetching::in_pieces(range, piece, [this](const prefetching::Range& part) {
      if (stop()) {
        return false;
      }
      tell(part, POSIX_FADV_WILLNEED);
      asked.fetch_add(part.end - part.offset, std::memory_order_relaxed);
      return true;
    });
  }
  bool dont_need(const prefetching::Range& range) const {
    tell(range, POSIX_FADV_DONTNEED);
    return !stop();
  }

 private:
  void tell(const prefetching::Range& range, int advice) const noexcept {
    posix_fadvise(descriptor, static_cast<off_t>(range.offset), static_cast<off_t>(range.end - range.offset), advice);
  }
};

}  // namespace dovetail::observer
