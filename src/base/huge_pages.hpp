// Memory in pages of two mebibytes.
#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>

namespace dovetail::base {

inline constexpr std::size_t huge_page = std::size_t{2} << 20;

/// Asks for huge pages where `bytes` are enough for one. A direct transfer is described to a device piece by piece, and neighbouring
/// pages of physical memory are one piece. A mebibyte is one piece in a huge page and 256 pieces in small ones. A device takes only so
/// many pieces at a time. Where the system has none, nothing changes. Keeps errno.
inline void prefer_huge_pages(void* memory, std::size_t bytes) noexcept {
  if (bytes >= huge_page) {
    const int kept = errno;
    madvise(memory, bytes, MADV_HUGEPAGE);
    errno = kept;
  }
}

}  // namespace dovetail::base
