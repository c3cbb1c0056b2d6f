// The memory of all `IoBuffer`s of the process, and the rings that have it registered. Buffers lie in one range of addresses,
// so that to tell whether some memory is registered takes two comparisons and a look into a table.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/mutex.hpp"

namespace dovetail::storage {

/// A user that keeps buffers registered.
class BufferUser {
 public:
  virtual ~BufferUser() = default;
  /// The buffer of that slot is dropped. From any thread.
  virtual void forget_buffer(unsigned slot) noexcept = 0;
};

class BufferRegistry {
 public:
  /// Most buffers that are registered at once; further ones are plain memory.
  static constexpr unsigned slots = 1024;
  /// Addresses are given out in pieces of so many bytes. Memory is used only where it is written to.
  static constexpr std::size_t piece = std::size_t{1} << 21;
  static constexpr std::size_t pieces = std::size_t{1} << 15;

  /// Never destroyed.
  static BufferRegistry& instance() noexcept;

  /// Null where there is no memory.
  std::byte* allocate(std::size_t bytes) noexcept;
  void release(std::byte* data, std::size_t bytes) noexcept;

  /// The buffer around some memory.
  struct Found {
    unsigned slot = slots;         ///< `slots`: none.
    std::uint32_t generation = 0;  ///< Tells buffers apart that had the slot one after the other. Never 0.
    std::byte* data = nullptr;
    std::size_t size = 0;
  };
  /// Hot: nearly always there is no such memory at all.
  static Found find(const void* data, std::size_t bytes) noexcept {
    const std::uintptr_t base = base_.load(std::memory_order_acquire);
    if (reinterpret_cast<std::uintptr_t>(data) - base >= piece * pieces || base == 0) [[likely]] {
      return {};
    }
    return instance().look_up(data, bytes);
  }

  /// @name For those that keep buffers registered
  /// @{
  void add(BufferUser* user);
  void remove(BufferUser* user) noexcept;
  void note(unsigned slot, int error) noexcept;  ///< An errno, 0: accepted.
  /// @}
  /// The answers of the rings about the buffer at `data`. Without a slot none can have it: ENOSPC.
  struct Answer {
    bool accepted = false;  ///< By some of them.
    int error = 0;          ///< Of the last that refused, an errno; 0 if none did.
  };
  Answer answer(const std::byte* data) noexcept;

 private:
  struct Slot {
    std::byte* data = nullptr;
    std::size_t size = 0;
    std::uint32_t generation = 0;
    std::atomic<bool> accepted{false};
    std::atomic<int> error{0};
  };
  BufferRegistry() = default;
  Found look_up(const void* data, std::size_t bytes) noexcept;
  bool allocate_in_range(std::size_t bytes, std::byte*& data) noexcept;
  bool inherited() const noexcept;
  bool reserve() REQUIRES(mutex_);

  inline static std::atomic<std::uintptr_t> base_{0};
  base::Mutex mutex_;
  std::vector<BufferUser*> users_ GUARDED_BY(mutex_);
  std::atomic<int> process_{0};  // Which made all this; its children only inherited it.
  std::vector<unsigned> free_slots_ GUARDED_BY(mutex_);
  bool refused_ GUARDED_BY(mutex_) = false;
  // Changed under `mutex_` also; `look_up` reads what belongs to a buffer that is in use, without it.
  std::vector<std::uint16_t> owner_;  // Of each piece: the slot + 1, or 0; `unregistered` for plain memory.
  std::unique_ptr<Slot[]> all_;
};

}  // namespace dovetail::storage
