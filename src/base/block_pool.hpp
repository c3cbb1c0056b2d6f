// Memory for small objects of one kind that one thread makes and another destroys. Each thread has a cache of free blocks
// that it uses without synchronisation; caches exchange whole chains with the pool. Memory is never given back to the
// system, so a stale look at a freed block reads old bytes instead of faulting (the stuck report relies on it).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

namespace dovetail::base {

class BlockPool {
 public:
  /// `slot` numbers the pools of the process; each has one of the few places in a thread's cache. `block_size` is a multiple
  /// of 64, and blocks are aligned to `min(64, block_size)` at least.
  BlockPool(unsigned slot, std::size_t block_size);
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  static constexpr unsigned slots = 8;

  void* allocate() {
    Cache& cache = caches[slot_];
    Link* block = cache.first;
    if (block == nullptr) [[unlikely]] {
      return refill();
    }
    unpoison(block);
    cache.first = block->next;
    --cache.count;
    return block;
  }

  void deallocate(void* memory) noexcept {
    Cache& cache = caches[slot_];
    auto* block = static_cast<Link*>(memory);
    block->next = cache.first;
    cache.first = block;
    if (++cache.count >= 2 * chain_length || !registered) [[unlikely]] {
      give_back();
    }
    poison(block);
  }

  /// Visits every block that was ever handed out, free or not. The visitor must tell them apart by itself.
  void for_each_block(const std::function<void(void*)>& visit);

  std::size_t block_size() const noexcept { return block_size_; }

 private:
  struct Link {
    Link* next;
    Link* next_chain;
  };
  struct Cache {
    Link* first = nullptr;
    std::uint32_t count = 0;
  };
  struct ThreadExit;
  static constexpr std::uint32_t chain_length = 64;
  static constexpr std::size_t slab_size = 256 * 1024;

  void* refill();
  void give_back() noexcept;
  void register_thread();
  void poison(void* block) const noexcept;
  void unpoison(void* block) const noexcept;

  static thread_local constinit Cache caches[slots];
  static thread_local constinit bool registered;
  static BlockPool* pools[slots];

  const unsigned slot_;
  const std::size_t block_size_;
  std::mutex mutex_;
  Link* chains_ = nullptr;
  std::byte* fresh_ = nullptr;
  std::byte* fresh_end_ = nullptr;
  std::vector<std::byte*> slabs_;
};

}  // namespace dovetail::base
