// The events of one thread: a ring of bounded size that its owner writes without waiting for another thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/event.hpp"

namespace dovetail::trace {

/// Written by one thread, read by any, at the same time. When the ring is full, the oldest event makes way.
///
/// The reader must neither stop the writer nor see half an event. Event `n` lies in slot `n % capacity`; the writer
/// stores its words and then `written_ = n + 1`. A word of event `n` is stored
/// after `written_ = n`. So if the reader finds a word of a later lap, it afterwards finds a `written_` which says that the slot was
/// overwritten. All words are atomics; on x86 each of these stores is a plain one.
class Ring {
 public:
  /// Reserves address space for `capacity` events, a power of two; memory is taken as the ring fills. One slot is the
  /// one being written, so `capacity - 1` events are kept.
  /// @throws std::bad_alloc.
  explicit Ring(std::size_t capacity);
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  /// Owner only.
  void push(const Event& event) noexcept {
    const std::uint64_t number = written_.load(std::memory_order_relaxed);
    std::uint64_t* words = slot(number);
    // Release, for what the reader concludes from a word (partner: the acquire loads in `read`).
    store(words[0], event.stamp);
    store(words[1], event.id);
    store(words[2], event.value);
    store(words[3], event.detail);
    written_.store(number + 1, std::memory_order_release);
  }
  /// Owner only. What was written before does not count any more.
  void forget() noexcept { first_.store(written_.load(std::memory_order_relaxed), std::memory_order_release); }

  /// Appends a copy of what is in the ring to `events`, oldest first. Returns how many older events were overwritten.
  std::uint64_t read(std::vector<Event>& events) const;
  /// Events written since `forget`, kept or not.
  std::uint64_t written() const noexcept {
    const std::uint64_t first = first_.load(std::memory_order_acquire);
    return written_.load(std::memory_order_acquire) - first;
  }

 private:
  static constexpr std::size_t words_per_event = sizeof(Event) / sizeof(std::uint64_t);

  static void store(std::uint64_t& word, std::uint64_t value) noexcept {
    std::atomic_ref(word).store(value, std::memory_order_release);
  }
  static std::uint64_t load(std::uint64_t& word) noexcept {
    return std::atomic_ref(word).load(std::memory_order_acquire);
  }
  std::uint64_t* slot(std::uint64_t number) const noexcept {
    return words_ + (number & (capacity_ - 1)) * words_per_event;
  }

  const std::size_t capacity_;
  std::uint64_t* const words_;
  std::atomic<std::uint64_t> written_{0};
  std::atomic<std::uint64_t> first_{0};
};

}  // namespace dovetail::trace
