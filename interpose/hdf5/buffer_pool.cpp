#include "buffer_pool.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace dovetail::hdf5 {
namespace {

// From here on buffers are mapped, so that the system gets them back.
constexpr std::size_t mapped = std::size_t{128} << 10;

std::byte* map(std::size_t bytes) noexcept {
  void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return data != MAP_FAILED ? static_cast<std::byte*>(data) : nullptr;
}

// Aligned to its own size, so that it is one huge page.
std::byte* map_largest() noexcept {
  constexpr std::size_t bytes = BufferPool::largest;
  std::byte* const all = map(2 * bytes);
  if (all == nullptr) {
    return nullptr;
  }
  const std::size_t before = (bytes - reinterpret_cast<std::uintptr_t>(all) % bytes) % bytes;
  if (before != 0) {
    munmap(all, before);
  }
  munmap(all + before + bytes, bytes - before);
  madvise(all + before, bytes, MADV_HUGEPAGE);
  return all + before;
}

std::byte* allocate(std::size_t bytes) noexcept {
  if (bytes < mapped) {
    return static_cast<std::byte*>(std::aligned_alloc(4096, bytes));
  }
  return bytes == BufferPool::largest ? map_largest() : map(bytes);
}

void release_memory(std::byte* data, std::size_t bytes) noexcept {
  if (bytes < mapped) {
    std::free(data);
  } else {
    munmap(data, bytes);
  }
}

}  // namespace

std::size_t BufferPool::kind_for(std::size_t bytes) noexcept {
  std::size_t kind = 0;
  while (kind + 1 < sizes.size() && sizes[kind] < bytes) {
    ++kind;
  }
  return kind;
}

std::size_t BufferPool::piece_of(std::size_t bytes) noexcept {
  const std::size_t size = sizes[kind_for(bytes)];
  return bytes >= size || size <= mapped || size - bytes <= size / 4 ? bytes : size / 2;
}

// Null: none is kept, and no new one is to be had.
std::byte* BufferPool::obtain(std::size_t kind, bool modest) noexcept {
  const std::size_t size = sizes[kind];
  const std::size_t out = taken_ + ahead_ + reserved_ + size;
  if (!kept_[kind].empty()) {
    std::byte* const data = kept_[kind].back();
    kept_[kind].pop_back();
    kept_bytes_ -= size;
    return data;
  }
  if (modest && out > few) {
    return nullptr;
  }
  shrink_to(limit_ > out ? limit_ - out : 0);
  return allocate(size);
}

Buffer BufferPool::take(std::size_t bytes, bool modest) noexcept {
  const std::size_t kind = kind_for(bytes);
  // One buffer must always be possible, or nothing would ever be written.
  if (taken_ != 0 && taken_ + ahead_ + reserved_ + sizes[kind] > limit_) {
    return {};
  }
  std::byte* const data = obtain(kind, modest);
  if (data == nullptr) {
    return {};
  }
  taken_ += sizes[kind];
  ++activity_;
  return {data, sizes[kind]};
}

void BufferPool::give_back(Buffer buffer) noexcept {
  taken_ -= std::min(taken_, buffer.capacity);
  keep(buffer);
}

// Whether what may be kept for long can grow so much.
bool BufferPool::spare(std::size_t bytes) const noexcept {
  const std::size_t kept = ahead_ + reserved_;
  return bytes <= limit_ / 2 && kept + bytes <= limit_ / 2 && taken_ + kept + bytes <= limit_;
}

bool BufferPool::reserve(std::size_t bytes) noexcept {
  if (!spare(bytes)) {
    return false;
  }
  reserved_ += bytes;
  const std::size_t out = taken_ + ahead_ + reserved_;
  shrink_to(limit_ > out ? limit_ - out : 0);
  return true;
}

Buffer BufferPool::take_ahead(std::size_t bytes) noexcept {
  const std::size_t kind = kind_for(bytes);
  if (!spare(sizes[kind])) {
    return {};
  }
  std::byte* const data = obtain(kind, false);
  if (data == nullptr) {
    return {};
  }
  ahead_ += sizes[kind];
  ++activity_;
  return {data, sizes[kind]};
}

void BufferPool::give_back_ahead(Buffer buffer) noexcept {
  ahead_ -= std::min(ahead_, buffer.capacity);
  keep(buffer);
}

void BufferPool::keep(Buffer buffer) noexcept {
  ++activity_;
  const auto kind = static_cast<std::size_t>(std::find(sizes.begin(), sizes.end(), buffer.capacity) - sizes.begin());
  try {
    kept_[kind].push_back(buffer.data);
    kept_bytes_ += buffer.capacity;
  } catch (const std::bad_alloc&) {
    release_memory(buffer.data, buffer.capacity);
  }
}

void BufferPool::shrink_to(std::size_t bytes) noexcept {
  for (std::size_t kind = sizes.size(); kind-- > 0 && kept_bytes_ > bytes;) {
    while (!kept_[kind].empty() && kept_bytes_ > bytes) {
      release_memory(kept_[kind].back(), sizes[kind]);
      kept_[kind].pop_back();
      kept_bytes_ -= sizes[kind];
    }
  }
}

}  // namespace dovetail::hdf5
