// Memory for small objects of one kind that one thread makes and another destroys. Each thread keeps free blocks in a magazine,
// an array that it uses without synchronisation; full and empty magazines are exchanged with the pool. A free block itself is not
// touched. So the first access to a block that another core used last is a store, which no core waits for.
//
// Memory is never given back to the system. So a stale look at a freed block reads old bytes instead of faulting, which the stuck
// report relies on.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <vector>

#include "base/process_mutex.hpp"
#include "base/sanitizer.hpp"
#if DOVETAIL_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace dovetail::base {

class BlockPool {
 public:
  static constexpr unsigned slots = 10;

  /// `slot` numbers the pools of the process; each has one of the few places in a thread's cache. `block_size` is a multiple
  /// of 64, and so is the address of every block.
  /// `visited`: the user looks at free blocks by `for_each_block`, so AddressSanitizer must allow it.
  BlockPool(unsigned slot, std::size_t block_size, bool visited = false);
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  void* allocate() {
    Magazine* magazine = own_caches()[slot_].magazine;
    if (magazine == nullptr || magazine->count == 0) [[unlikely]] {
      magazine = load();
    }
    void* block = magazine->blocks[--magazine->count];
    unpoison(block);
    return block;
  }

  void deallocate(void* block) noexcept {
    poison(block);
    Magazine* magazine = own_caches()[slot_].magazine;
    if (magazine == nullptr || magazine->count == Magazine::capacity) [[unlikely]] {
      magazine = make_room();
    }
    magazine->blocks[magazine->count++] = block;
  }

  /// Visits every block that was ever handed out, free or not. The visitor must tell them apart by itself.
  void for_each_block(const std::function<void(void*)>& visit);

  std::size_t block_size() const noexcept { return block_size_; }

 private:
  struct Magazine {
    static constexpr std::uint32_t capacity = 62;
    Magazine* next = nullptr;
    std::uint32_t count = 0;
    void* blocks[capacity];
  };
  struct Cache {
    Magazine* magazine = nullptr;
    Magazine* previous = nullptr;  ///< Full or empty; saves an exchange to threads that go back and forth.
  };
  struct ThreadExit;
  static constexpr std::size_t slab_size = 256 * 1024;

  Magazine* take(std::initializer_list<Magazine**> lists) noexcept REQUIRES(mutex_);
  void put(Magazine* magazine) noexcept REQUIRES(mutex_);
  Magazine* make_magazine() REQUIRES(mutex_);
  Magazine* load();
  Magazine* make_room() noexcept;
  void fill(Magazine& magazine) REQUIRES(mutex_);
  void return_magazines(Cache& cache) noexcept;
  static void register_thread();
  void poison([[maybe_unused]] void* block) const noexcept {
#if DOVETAIL_ADDRESS_SANITIZER
    if (!visited_) {
      __asan_poison_memory_region(block, block_size_);
    }
#endif
  }
  void unpoison([[maybe_unused]] void* block) const noexcept {
#if DOVETAIL_ADDRESS_SANITIZER
    __asan_unpoison_memory_region(block, block_size_);
#endif
  }

  /// Of the calling thread, one for each pool. A function in another source, so that no compiler keeps the address across a switch of
  /// fibers: the thread may be another one afterwards.
  static Cache* own_caches() noexcept;

  static std::atomic<BlockPool*> pools[slots];

  const unsigned slot_;
  const std::size_t block_size_;
  [[maybe_unused]] const bool visited_;
  ProcessMutex mutex_;
  Magazine* full_ GUARDED_BY(mutex_) = nullptr;
  Magazine* partial_ GUARDED_BY(mutex_) = nullptr;  ///< Neither full nor empty: of threads that have ended.
  Magazine* empty_ GUARDED_BY(mutex_) = nullptr;
  std::byte* fresh_ GUARDED_BY(mutex_) = nullptr;
  std::byte* fresh_end_ GUARDED_BY(mutex_) = nullptr;
  std::vector<std::byte*> slabs_ GUARDED_BY(mutex_);
  std::vector<Magazine*> magazines_ GUARDED_BY(mutex_);
};

}  // namespace dovetail::base
