#include "staging/buffer_pool.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace dovetail::staging {
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

// Of the budget it is a part already. Null: none is kept, and no new one is to be had.
std::byte* BufferPool::obtain(std::size_t kind, bool modest) noexcept {
  const std::size_t size = sizes[kind];
  if (!kept_[kind].empty()) {
    std::byte* const data = kept_[kind].back();
    kept_[kind].pop_back();
    kept_bytes_ -= size;
    return data;
  }
  if (modest && budget_.used() > few) {
    return nullptr;
  }
  shrink_to(static_cast<std::size_t>(budget_.limit() - std::min(budget_.limit(), budget_.used())));
  return allocate(size);
}

Buffer BufferPool::take(std::size_t bytes, bool modest) noexcept {
  const std::size_t kind = kind_for(bytes);
  if (!budget_.try_take(sizes[kind])) {
    return {};
  }
  std::byte* const data = obtain(kind, modest);
  if (data == nullptr) {
    budget_.give_back(sizes[kind]);
    return {};
  }
  taken_ += sizes[kind];
  ++activity_;
  return {data, sizes[kind]};
}

void BufferPool::give_back(Buffer buffer) noexcept {
  // A buffer that was taken before a fork has no owner any more.
  const std::size_t counted = std::min(taken_, buffer.capacity);
  taken_ -= counted;
  budget_.give_back(counted);
  ++activity_;
  try {
    kept_[kind_for(buffer.capacity)].push_back(buffer.data);
    kept_bytes_ += buffer.capacity;
  } catch (const std::bad_alloc&) {
    release_memory(buffer.data, buffer.capacity);
  }
}

void BufferPool::forget_taken() noexcept {
  budget_.give_back(taken_);
  taken_ = 0;
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

}  // namespace dovetail::staging
