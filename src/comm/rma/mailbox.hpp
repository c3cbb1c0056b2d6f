// Where the notifications of other processes arrive: memory of the process that they are for, which all processes of the node have mapped.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>

namespace dovetail::comm::rma {

/// What one process tells another one by one store of 8 bytes.
struct Notification {
  std::uint8_t segment = 0;
  std::uint32_t id = 0;     ///< Below `most_ids`.
  std::uint32_t value = 0;  ///< Never 0.

  static constexpr std::uint32_t most_ids = 1U << 24;
  /// Never 0, since the value is not.
  std::uint64_t packed() const noexcept {
    return std::uint64_t{value} << 32 | std::uint64_t{id} << 8 | std::uint64_t{segment};
  }
  static Notification unpack(std::uint64_t packed) noexcept {
    return {static_cast<std::uint8_t>(packed), static_cast<std::uint32_t>(packed >> 8) & (most_ids - 1),
            static_cast<std::uint32_t>(packed >> 32)};
  }
};

/// Notifications from one process to another, in the order in which they were put. An empty place is 0, so both sides look at the same line of
/// the cache only, and eight notifications share a line.
class Ring {
 public:
  static constexpr std::size_t capacity = 4096;

  /// By one thread of the sending process at a time; `next` is its count. What it wrote before is visible to the process that takes this.
  /// @returns false if the ring is full.
  bool put(Notification notification, std::uint64_t& next) noexcept {
    std::atomic<std::uint64_t>& place = places_[next % capacity];
    if (place.load(std::memory_order_acquire) != 0) {
      return false;
    }
    place.store(notification.packed(), std::memory_order_release);
    ++next;
    return true;
  }
  /// By one thread of the receiving process at a time; `next` is its count.
  std::optional<Notification> take(std::uint64_t& next) noexcept {
    std::atomic<std::uint64_t>& place = places_[next % capacity];
    const std::uint64_t packed = place.load(std::memory_order_acquire);
    if (packed == 0) {
      return std::nullopt;
    }
    place.store(0, std::memory_order_release);
    ++next;
    return Notification::unpack(packed);
  }
  bool holds_next(std::uint64_t next) const noexcept {
    return places_[next % capacity].load(std::memory_order_relaxed) != 0;
  }

 private:
  std::array<std::atomic<std::uint64_t>, capacity> places_;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && sizeof(Ring) == 8 * Ring::capacity);

/// A ring for each process of the group, and whether the owner sleeps. Zeros: empty, and it does not sleep.
class Mailbox {
 public:
  static std::size_t bytes(std::size_t ranks) noexcept { return sizeof(Head) + ranks * sizeof(Ring); }
  Mailbox() noexcept = default;
  /// In memory that has `bytes(ranks)` bytes.
  explicit Mailbox(std::byte* memory) noexcept
      : head_(std::launder(reinterpret_cast<Head*>(memory))),
        rings_(std::launder(reinterpret_cast<Ring*>(memory + sizeof(Head)))) {}

  Ring& from(std::size_t rank) const noexcept { return rings_[rank]; }

  /// @name The bell
  /// A process that sleeps says so before, and then looks at its rings once more. A sender puts something into a ring, and then looks whether the owner
  /// sleeps. One of both sees the other.
  /// @{
  /// By the owner. The caller looks at the rings next.
  void say_asleep() const noexcept {
    head_->sleeps.store(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  void say_awake() const noexcept {
    if (says_asleep()) {
      head_->sleeps.store(0, std::memory_order_relaxed);
    }
  }
  bool says_asleep() const noexcept { return head_->sleeps.load(std::memory_order_relaxed) != 0; }
  /// By a process that has put something into a ring. @returns Whether it has to wake the owner.
  bool must_ring() const noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return says_asleep() && head_->sleeps.exchange(0, std::memory_order_relaxed) != 0;
  }
  /// @}

  /// @name The end
  /// @{
  /// By the owner: what ends its connections after this is no accident.
  void say_goodbye() const noexcept { head_->has_left.store(1, std::memory_order_release); }
  bool says_goodbye() const noexcept { return head_->has_left.load(std::memory_order_acquire) != 0; }
  /// @}

 private:
  struct Head {
    alignas(64) std::atomic<std::uint32_t> sleeps;
    alignas(64) std::atomic<std::uint32_t> has_left;
  };
  Head* head_ = nullptr;
  Ring* rings_ = nullptr;
};

}  // namespace dovetail::comm::rma
