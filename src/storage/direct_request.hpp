// A request that bypasses the page cache. Reads and aligned writes do so as they are. A write that is not aligned goes on step by
// step in ascending order. It goes through the page cache up to the next whole page, directly for all whole pages, and through the
// page cache again. So the file never claims bytes that nothing has written.
#pragma once

#include <cstddef>

#include "storage/request.hpp"

namespace dovetail::storage {

/// Aligned memory to go through, where the program's is not aligned.
struct BounceBuffer {
  /// Bytes. A copy of so much takes a core well under 50 microseconds.
  static constexpr std::size_t size = 256 * 1024;
  std::byte* data = nullptr;
};

struct DirectTransfer;

/// The adaptor of all direct requests.
const RequestAdaptor& direct_adaptor() noexcept;

struct DirectRequest : Request {
  BounceBuffer* bounce = nullptr;      ///< Null: the program's memory suits.
  DirectTransfer* transfer = nullptr;  ///< Which this is a piece of, if it is one of several.
};

}  // namespace dovetail::storage
