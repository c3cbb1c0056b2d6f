// The files that programs open, for the process that looks whether they are a series (python/dovetail/open_log.py). It lies in memory that all
// processes of one `dovetail run --detect` share: no allocation, no lock.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace dovetail::prefetching {

/// The latest opens. All bytes zero is one in which there was none.
class OpenLog {
 public:
  static constexpr std::size_t longest_path = 239;
  static constexpr std::uint32_t slots = 1024;

  /// A file was opened to be read: by this path, from that folder as `openat` has it, in that process. Longer paths are left out. Any thread and any signal
  /// handler may call it.
  void note(const char* path, std::int32_t folder, std::int32_t process) noexcept {
    const std::size_t bytes = strnlen(path, longest_path + 1);
    if (bytes > longest_path) {
      return;
    }
    const std::uint64_t number = opens_.fetch_add(1, std::memory_order_relaxed);
    Slot& slot = slots_[number % slots];
    slot.number.store(0, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    slot.folder = folder;
    slot.process = process;
    std::memcpy(slot.path, path, bytes);
    slot.path[bytes] = '\0';
    slot.number.store(number + 1, std::memory_order_release);
  }

 private:
  struct Slot {
    std::atomic<std::uint64_t> number;  // of the open, and one more; 0: it is being written
    std::int32_t folder;
    std::int32_t process;
    char path[longest_path + 1];
  };
  static_assert(sizeof(Slot) == 256);

  alignas(4096) std::atomic<std::uint64_t> opens_;
  alignas(4096) std::array<Slot, slots> slots_;
};
static_assert(sizeof(OpenLog) == 4096 + 1024 * 256);

}  // namespace dovetail::prefetching
