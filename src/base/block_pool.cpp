#include "base/block_pool.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <utility>

// Of the leak detector, where the program has one. It does not look into mapped memory by itself, so that what only a block
// points at would be a leak.
extern "C" [[gnu::weak]] void __lsan_register_root_region(const void* begin, std::size_t size);

namespace dovetail::base {

std::atomic<BlockPool*> BlockPool::pools[BlockPool::slots] = {};

BlockPool::Cache* BlockPool::own_caches() noexcept {
  thread_local constinit Cache caches[slots];
  return caches;
}

// Gives a thread's free blocks back when the thread ends.
struct BlockPool::ThreadExit {
  ~ThreadExit() {
    for (unsigned slot = 0; slot < slots; ++slot) {
      if (BlockPool* pool = pools[slot].load(std::memory_order_acquire)) {
        pool->return_magazines(own_caches()[slot]);
      }
    }
  }
};

BlockPool::BlockPool(unsigned slot, std::size_t block_size, bool visited)
    : slot_(slot), block_size_(block_size), visited_(visited) {
  pools[slot].store(this, std::memory_order_release);
}

void BlockPool::register_thread() {
  thread_local ThreadExit exit;
  static_cast<void>(exit);
}

// The first magazine of the first list that has one, or null.
BlockPool::Magazine* BlockPool::take(std::initializer_list<Magazine**> lists) noexcept {
  for (Magazine** list : lists) {
    if (*list != nullptr) {
      return std::exchange(*list, (*list)->next);
    }
  }
  return nullptr;
}

void BlockPool::put(Magazine* magazine) noexcept {
  Magazine*& list = magazine->count == 0 ? empty_ : magazine->count == Magazine::capacity ? full_ : partial_;
  magazine->next = list;
  list = magazine;
}

// The pool knows all magazines: one that a thread takes so late in its end that it is not returned is not lost.
BlockPool::Magazine* BlockPool::make_magazine() {
  auto* magazine = new Magazine;
  magazines_.push_back(magazine);
  return magazine;
}

// New blocks, a few at a time, so that memory is touched only when it is needed.
void BlockPool::fill(Magazine& magazine) {
  if (fresh_ == fresh_end_) {
    void* slab = mmap(nullptr, slab_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (slab == MAP_FAILED) {
      throw std::bad_alloc();
    }
    if (__lsan_register_root_region != nullptr) {
      __lsan_register_root_region(slab, slab_size);
    }
    slabs_.push_back(static_cast<std::byte*>(slab));
    fresh_ = slabs_.back();
    fresh_end_ = fresh_ + slab_size / block_size_ * block_size_;
  }
  const auto left = static_cast<std::size_t>(fresh_end_ - fresh_) / block_size_;
  const auto taken = static_cast<std::uint32_t>(std::min<std::size_t>(left, 16));
  // The lowest address is used first.
  for (std::uint32_t i = 0; i < taken; ++i) {
    magazine.blocks[taken - 1 - i] = fresh_ + i * block_size_;
  }
  magazine.count = taken;
  fresh_ += taken * block_size_;
}

// A magazine that is not empty becomes the thread's.
BlockPool::Magazine* BlockPool::load() {
  Cache& cache = own_caches()[slot_];
  if (cache.magazine == nullptr) {
    register_thread();
  }
  if (cache.previous != nullptr && cache.previous->count > 0) {
    std::swap(cache.magazine, cache.previous);
    return cache.magazine;
  }
  const LockGuard lock(mutex_);
  Magazine* loaded = take({&full_, &partial_});
  if (loaded == nullptr) {
    loaded = cache.magazine != nullptr ? std::exchange(cache.magazine, nullptr) : take({&empty_});
    loaded = loaded != nullptr ? loaded : make_magazine();
    fill(*loaded);
  }
  if (cache.magazine != nullptr) {
    put(cache.magazine);
  }
  cache.magazine = loaded;
  return loaded;
}

// A magazine that is not full becomes the thread's.
BlockPool::Magazine* BlockPool::make_room() noexcept {
  Cache& cache = own_caches()[slot_];
  if (cache.magazine == nullptr) {
    register_thread();
  }
  if (cache.previous != nullptr && cache.previous->count == 0) {
    std::swap(cache.magazine, cache.previous);
    return cache.magazine;
  }
  const LockGuard lock(mutex_);
  Magazine* room = take({&empty_, &partial_});
  room = room != nullptr ? room : make_magazine();
  if (cache.previous != nullptr) {
    put(cache.previous);
  }
  cache.previous = std::exchange(cache.magazine, room);
  return room;
}

void BlockPool::return_magazines(Cache& cache) noexcept {
  const LockGuard lock(mutex_);
  for (Magazine* magazine : {std::exchange(cache.magazine, nullptr), std::exchange(cache.previous, nullptr)}) {
    if (magazine != nullptr) {
      put(magazine);
    }
  }
}

void BlockPool::for_each_block(const std::function<void(void*)>& visit) {
  const LockGuard lock(mutex_);
  for (std::byte* slab : slabs_) {
    std::byte* end = slab + slab_size / block_size_ * block_size_;
    if (slab == slabs_.back()) {
      end = fresh_;
    }
    for (std::byte* block = slab; block < end; block += block_size_) {
      visit(block);
    }
  }
}

}  // namespace dovetail::base
