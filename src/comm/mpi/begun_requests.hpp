// What the program's own requests are: those that it starts by itself, and hands over or waits for later. MPI itself tells nothing of a request.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "comm/mpi/operation.hpp"

namespace dovetail::comm::mpi {

using detail::mpi::BegunCall;

struct BegunRequest {
  const BegunCall* call = nullptr;  ///< Null in none that was added.
  Communicator communicator{};
  int peer = 0;  ///< As in `Description`.
  int tag = 0;
  std::uint64_t message = 0;         ///< Its number in the trace; 0: no trace has it.
  const Channel* channel = nullptr;  ///< Null: a trace cannot tell its messages from others'.
};

/// A handle of MPI is that of one request at a time, and each call that begins one is noted: so the last note of a handle is right. Only requests
/// that have ended when they are started may share one. What has ended stays until its handle is used again. Each call that begins a message does
/// this, in tasks and outside: so there is no list that grows, and no lock. Where too many requests are outstanding, the oldest are forgotten.
/// Thread-safe. Two threads that take the same place at once spoil it, which its check shows: then both are forgotten.
class BegunRequests {
 public:
  static constexpr std::size_t most_of_a_set = 3;
  static constexpr unsigned bits_of_sets = 14;

  static BegunRequests& of_process() noexcept;
  /// No address of an operation, which numbers other messages, has the highest bit.
  static std::uint64_t next_number() noexcept {
    static constinit std::atomic<std::uint64_t> last{0};
    return (std::uint64_t{1} << 63U) | last.fetch_add(1, std::memory_order_relaxed);
  }
  /// @returns The number of the message that is forgotten for this one, which its trace must be told has ended; 0: none.
  std::uint64_t add(std::uint64_t handle, const BegunRequest& begun) noexcept {
    return add(handle, begun.call, begun.communicator, begun.peer, begun.tag, begun.message, begun.channel);
  }
  /// Inline: each call of the program that begins a message pays for it.
  std::uint64_t add(std::uint64_t handle, const BegunCall* call, Communicator communicator, int peer, int tag,
                    std::uint64_t message = 0, const Channel* channel = nullptr) noexcept {
    if (!is_used_.load(std::memory_order_relaxed)) [[unlikely]] {
      is_used_.store(true, std::memory_order_relaxed);
    }
    Set& set = sets_[place_of(handle)];
    Entry* entry = set.find(handle);
    if (entry == nullptr) [[unlikely]] {
      entry = &set.oldest_entry();
    }
    return entry->write(handle, std::bit_cast<std::uint64_t>(call), std::bit_cast<std::uint64_t>(communicator.handle),
                        peer_and_tag(peer, tag), message, std::bit_cast<std::uint64_t>(channel));
  }
  /// Nothing if it is not known.
  std::optional<BegunRequest> find(std::uint64_t handle) const noexcept;
  /// The same where a trace has its message. From then on no trace has it.
  std::optional<BegunRequest> take_message(std::uint64_t handle) noexcept;

 private:
  class Entry {
   public:
    bool is_of(std::uint64_t handle) const noexcept {
      return words_[0].load(std::memory_order_relaxed) == handle && words_[1].load(std::memory_order_relaxed) != 0;
    }
    /// Each word by itself: what is written in halves and read as a whole makes the processor wait. Where no trace has a message, two are spared.
    /// @returns The message that was here.
    std::uint64_t write(std::uint64_t handle, std::uint64_t call, std::uint64_t communicator,
                        std::uint64_t peer_and_tag, std::uint64_t message, std::uint64_t channel) noexcept {
      std::uint64_t before = words_[4].load(std::memory_order_relaxed);
      words_[0].store(handle, std::memory_order_relaxed);
      words_[1].store(call, std::memory_order_relaxed);
      words_[2].store(communicator, std::memory_order_relaxed);
      words_[3].store(peer_and_tag, std::memory_order_relaxed);
      if ((before | message) != 0) [[unlikely]] {
        before = words_[4].exchange(message, std::memory_order_relaxed);
        words_[5].store(channel, std::memory_order_relaxed);
      }
      check_.store(check_of(handle, call, communicator, peer_and_tag, message, channel), std::memory_order_relaxed);
      return before;
    }
    /// @returns Whether the message was still here: it is told once.
    bool forget_message(std::uint64_t handle, const BegunRequest& known) noexcept;
    std::optional<BegunRequest> read(std::uint64_t handle) const noexcept;

   private:
    /// Numbers that are small, or differ by little, must not make up for each other. The channel counts where there is a message.
    static std::uint64_t check_of(std::uint64_t handle, std::uint64_t call, std::uint64_t communicator,
                                  std::uint64_t peer_and_tag, std::uint64_t message, std::uint64_t channel) noexcept {
      const std::uint64_t known =
          handle ^ std::rotl(call, 11) ^ std::rotl(communicator, 23) ^ std::rotl(peer_and_tag, 34);
      return message == 0 ? known : known ^ std::rotl(message, 45) ^ std::rotl(channel, 56);
    }

    /// As `write` has them.
    std::array<std::atomic<std::uint64_t>, 6> words_{};
    std::atomic<std::uint64_t> check_{0};
  };
  /// Its first entry, in which most handles are found, lies in one line of the cache.
  struct alignas(64) Set {
    std::array<Entry, most_of_a_set> entries;
    std::atomic<std::size_t> oldest{0};

    Entry* find(std::uint64_t handle) noexcept {
      for (Entry& entry : entries) {
        if (entry.is_of(handle)) {
          return &entry;
        }
      }
      return nullptr;
    }
    /// The next one is the oldest then.
    Entry& oldest_entry() noexcept;
  };

  static std::uint64_t peer_and_tag(int peer, int tag) noexcept {
    return static_cast<std::uint32_t>(peer) | std::uint64_t{static_cast<std::uint32_t>(tag)} << 32U;
  }
  /// Handles differ in their lower bits.
  static std::size_t place_of(std::uint64_t handle) noexcept {
    return static_cast<std::size_t>((handle * 0x9E37'79B9'7F4A'7C15U) >> (64U - bits_of_sets));
  }

  std::atomic<bool> is_used_{false};
  std::array<Set, std::size_t{1} << bits_of_sets> sets_;  ///< All zero at first, so no memory is taken.
};

}  // namespace dovetail::comm::mpi
