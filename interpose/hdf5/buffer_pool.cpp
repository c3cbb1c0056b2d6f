#include "buffer_pool.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace dovetail::hdf5 {
namespace {

std::byte* allocate(std::size_t bytes) noexcept {
  // Aligned to its own size, so that the largest is one huge page.
  const std::size_t alignment = bytes == BufferPool::largest ? bytes : 4096;
  auto* data = static_cast<std::byte*>(std::aligned_alloc(alignment, bytes));
  if (data != nullptr && bytes == BufferPool::largest) {
    madvise(data, bytes, MADV_HUGEPAGE);
  }
  return data;
}

}  // namespace

Buffer BufferPool::take(std::size_t bytes, bool modest) noexcept {
  std::size_t kind = 0;
  while (kind + 1 < sizes.size() && sizes[kind] < bytes) {
    ++kind;
  }
  const std::size_t size = sizes[kind];
  // One buffer must always be possible, or nothing would ever be written.
  if (taken_ != 0 && taken_ + size > limit_) {
    return {};
  }
  std::byte* data = nullptr;
  if (!kept_[kind].empty()) {
    data = kept_[kind].back();
    kept_[kind].pop_back();
    kept_bytes_ -= size;
  } else if (modest && taken_ + size > few) {
    return {};
  } else {
    shrink_to(limit_ > taken_ + size ? limit_ - taken_ - size : 0);
    data = allocate(size);
    if (data == nullptr) {
      return {};
    }
  }
  taken_ += size;
  return {data, size};
}

void BufferPool::give_back(Buffer buffer) noexcept {
  const auto kind = static_cast<std::size_t>(std::find(sizes.begin(), sizes.end(), buffer.capacity) - sizes.begin());
  taken_ -= std::min(taken_, buffer.capacity);
  try {
    kept_[kind].push_back(buffer.data);
    kept_bytes_ += buffer.capacity;
  } catch (const std::bad_alloc&) {
    std::free(buffer.data);
  }
}

void BufferPool::shrink_to(std::size_t bytes) noexcept {
  for (std::size_t kind = sizes.size(); kind-- > 0 && kept_bytes_ > bytes;) {
    while (!kept_[kind].empty() && kept_bytes_ > bytes) {
      std::free(kept_[kind].back());
      kept_[kind].pop_back();
      kept_bytes_ -= sizes[kind];
    }
  }
}

}  // namespace dovetail::hdf5
