/// @file
/// Reading ahead: the program says which bytes of a file it will read, and they are brought into the page cache meanwhile.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "dovetail/file.hpp"

namespace dovetail {

/// Bytes `[offset, offset + length)` of a file. A range of length 0 is empty.
struct FileRange {
  std::uint64_t offset = 0;  ///< First byte.
  std::uint64_t length = 0;  ///< In bytes.
};

/// Has these bytes brought into the page cache in the background, in the order of the file. Does not suspend, and waits for no device. Any
/// task or thread may call it. The ranges are copied. A later read of them finds what has come, and waits for what is on its way.
///
/// It is advice. Bytes that are cached already, or lie behind the end of the file, cost a look. A gap of up to 256 KiB between two ranges is
/// read as well, since another request would take longer. On a disk with moving heads, as the kernel says, that is 1 MiB;
/// `DOVETAIL_PREFETCH_GAP_KB` overrides both. One call brings at most a quarter of the memory that is free. While more than 1024 calls wait,
/// further ones do nothing. At most 4 MiB or 32 requests are on their way at once. While the program waits for its own requests to the same
/// device, at most two are. Errors are not told here: the read that needs the bytes tells them. A file that is closed meanwhile, or a runtime
/// that ends, ends the reading ahead. Nothing happens for a stream, nor for a file that bypasses the page cache (`File::direct`): its reads
/// would not look there.
///
/// It does not wait for accesses: bytes that another task is about to write are brought as they are, which is useless and not wrong.
/// A program without a `Runtime` gets a small one of its own for this.
/// @throws IoError EBADF for a closed file, EINVAL for a range beyond 2^63 - 1; std::invalid_argument for a setting; std::bad_alloc.
void prefetch(const File& file, std::span<const FileRange> ranges);
/// As above, for ranges that are written in place.
inline void prefetch(const File& file, std::initializer_list<FileRange> ranges) {
  prefetch(file, std::span<const FileRange>(ranges.begin(), ranges.size()));
}
/// As above, for one range.
inline void prefetch(const File& file, std::uint64_t offset, std::uint64_t length) {
  prefetch(file, {FileRange{offset, length}});
}

}  // namespace dovetail
