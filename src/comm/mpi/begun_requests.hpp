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
  std::uint64_t add(std::uint64_t handle, const BegunCall* call, Communicator communicator, int peer, int tag,
                    std::uint64_t message = 0, const Channel* channel = nullptr) noexcept;
  /// Nothing if it is not known.
  std::optional<BegunRequest> find(std::uint64_t handle) const noexcept;
  /// The same where a trace has its message. From then on no trace has it.
  std::optional<BegunRequest> take_message(std::uint64_t handle) noexcept;

 private:
  class Entry {
   public:
    std::uint64_t handle() const noexcept { return words_[0].load(std::memory_order_relaxed); }
    bool is_used() const noexcept { return words_[1].load(std::memory_order_relaxed) != 0; }
    std::uint64_t message() const noexcept { return words_[4].load(std::memory_order_relaxed); }
    /// Each word by itself: what is written in halves and read as a whole makes the processor wait.
    void write(std::uint64_t handle, std::uint64_t call, std::uint64_t communicator, std::uint64_t peer_and_tag,
               std::uint64_t message, std::uint64_t channel) noexcept {
      words_[0].store(handle, std::memory_order_relaxed);
      words_[1].store(call, std::memory_order_relaxed);
      words_[2].store(communicator, std::memory_order_relaxed);
      words_[3].store(peer_and_tag, std::memory_order_relaxed);
      words_[4].store(message, std::memory_order_relaxed);
      words_[5].store(channel, std::memory_order_relaxed);
      check_.store(check_of(handle, call, communicator, peer_and_tag, message, channel), std::memory_order_relaxed);
    }
    void forget_message() noexcept;
    std::optional<BegunRequest> read(std::uint64_t handle) const noexcept;

   private:
    /// Numbers that are small, or differ by little, must not make up for each other.
    static std::uint64_t check_of(std::uint64_t handle, std::uint64_t call, std::uint64_t communicator,
                                  std::uint64_t peer_and_tag, std::uint64_t message, std::uint64_t channel) noexcept {
      return handle ^ std::rotl(call, 11) ^ std::rotl(communicator, 23) ^ std::rotl(peer_and_tag, 34) ^
             std::rotl(message, 45) ^ std::rotl(channel, 56);
    }

    /// As `write` has them.
    std::array<std::atomic<std::uint64_t>, 6> words_{};
    std::atomic<std::uint64_t> check_{0};
  };
  struct Set {
    std::array<Entry, most_of_a_set> entries;
    std::atomic<std::size_t> oldest{0};

    Entry* find(std::uint64_t handle) noexcept;
  };

  /// Handles differ in their lower bits.
  static std::size_t place_of(std::uint64_t handle) noexcept {
    return static_cast<std::size_t>((handle * 0x9E37'79B9'7F4A'7C15U) >> (64U - bits_of_sets));
  }

  std::atomic<bool> is_used_{false};
  std::array<Set, std::size_t{1} << bits_of_sets> sets_;  ///< All zero at first, so no memory is taken.
};

}  // namespace dovetail::comm::mpi
