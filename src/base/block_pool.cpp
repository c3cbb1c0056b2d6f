#include "base/block_pool.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "base/sanitizer.hpp"
#ifdef DOVETAIL_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace dovetail::base {

thread_local constinit BlockPool::Cache BlockPool::caches[BlockPool::slots];
thread_local constinit bool BlockPool::registered = false;
BlockPool* BlockPool::pools[BlockPool::slots] = {};

// Gives a thread's free blocks back when the thread ends.
struct BlockPool::ThreadExit {
  ~ThreadExit() {
    registered = false;
    for (unsigned slot = 0; slot < slots; ++slot) {
      while (pools[slot] != nullptr && caches[slot].first != nullptr) {
        pools[slot]->give_back();
      }
    }
  }
};

BlockPool::BlockPool(unsigned slot, std::size_t block_size) : slot_(slot), block_size_(block_size) { pools[slot] = this; }

void BlockPool::poison([[maybe_unused]] void* block) const noexcept {
#ifdef DOVETAIL_ADDRESS_SANITIZER
  // The links stay readable: the pool itself walks them.
  __asan_poison_memory_region(static_cast<std::byte*>(block) + sizeof(Link), block_size_ - sizeof(Link));
#endif
}

void BlockPool::unpoison([[maybe_unused]] void* block) const noexcept {
#ifdef DOVETAIL_ADDRESS_SANITIZER
  __asan_unpoison_memory_region(block, block_size_);
#endif
}

void BlockPool::register_thread() {
  thread_local ThreadExit exit;
  static_cast<void>(exit);
  registered = true;
}

void* BlockPool::refill() {
  if (!registered) {
    register_thread();
  }
  Cache& cache = caches[slot_];
  std::lock_guard lock(mutex_);
  if (chains_ != nullptr) {
    Link* chain = chains_;
    unpoison(chain);
    chains_ = chain->next_chain;
    std::uint32_t count = 0;
    for (const Link* link = chain->next; link != nullptr; link = link->next) {
      ++count;
    }
    cache.first = chain->next;
    cache.count = count;
    return chain;
  }
  if (fresh_ == fresh_end_) {
    void* slab = mmap(nullptr, slab_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (slab == MAP_FAILED) {
      throw std::bad_alloc();
    }
    slabs_.push_back(static_cast<std::byte*>(slab));
    fresh_ = slabs_.back();
    fresh_end_ = fresh_ + slab_size / block_size_ * block_size_;
  }
  // A few at a time, so that memory is touched only when it is needed.
  std::byte* first = fresh_;
  const auto left = static_cast<std::size_t>(fresh_end_ - fresh_) / block_size_;
  const std::size_t taken = std::min<std::size_t>(left, chain_length / 4);
  fresh_ += taken * block_size_;
  for (std::size_t i = taken - 1; i >= 1; --i) {
    auto* block = reinterpret_cast<Link*>(first + i * block_size_);
    block->next = cache.first;
    cache.first = block;
    ++cache.count;
  }
  return first;
}

void BlockPool::give_back() noexcept {
  if (!registered && caches[slot_].count < 2 * chain_length) {
    // A thread that only frees must still be seen to end.
    try {
      register_thread();
      return;
    } catch (...) {
      registered = false;
    }
  }
  Cache& cache = caches[slot_];
  Link* chain = cache.first;
  Link* last = chain;
  std::uint32_t count = 1;
  while (count < chain_length && last->next != nullptr) {
    last = last->next;
    ++count;
  }
  cache.first = last->next;
  cache.count -= count;
  last->next = nullptr;
  std::lock_guard lock(mutex_);
  chain->next_chain = chains_;
  chains_ = chain;
}

void BlockPool::for_each_block(const std::function<void(void*)>& visit) {
  std::lock_guard lock(mutex_);
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
