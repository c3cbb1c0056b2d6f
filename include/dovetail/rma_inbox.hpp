/// @file
/// A rank takes the next message of any rank; sender and receiver agree on no place and no notification before. GASPI calls this passive communication.
/// It is for rare messages whose sender the receiver does not know, such as requests to a server. For frequent ones `rma::write_notify` is faster.
///
///     const rma::Inbox inbox = rma::Inbox::open(group);
///     rt.spawn([&] { inbox.send(0, std::span(&request, 1)); });
///     rt.spawn([&] {
///       Request request;
///       const auto [rank, bytes] = inbox.receive(std::as_writable_bytes(std::span(&request, 1)));
///     });
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "dovetail/rma.hpp"

namespace dovetail::rma {

/// How an inbox is made, the same in all processes.
struct InboxOptions {
  std::uint32_t bytes = 1024;  ///< Of the longest message. At most `most_copied_bytes`.
  std::uint32_t messages = 4;  ///< So many of each sender lie there until they are taken, at least one.
};

/// The messages for this process, and the way to those of the others. Copies are the same inbox; it lives as long as the group. Messages from one thread to
/// one rank are received in order. Senders are served in turn. Thread-safe.
class Inbox {
 public:
  /// By all processes at the same time, in the same order as segments, of which it is one; blocks. In each process it takes `messages * bytes` for each
  /// sender.
  /// @throws As `Segment::allocate`; std::invalid_argument in all processes if their options differ
  static Inbox open(const Group& group, const InboxOptions& options = {});
  /// Of the longest message.
  std::size_t most_bytes() const noexcept;
  /// Returns when the message has been copied. Where the rank has not taken the last `InboxOptions::messages` of this process, it suspends the task until
  /// it has, and blocks outside of tasks.
  /// @throws std::invalid_argument, also for a message that is too long; std::logic_error in an `onready`; Error if the rank has ended
  void send(int rank, std::span<const std::byte> message) const;
  /// Numbers and arrays of them. `Range` is contiguous.
  template <class Range>
    requires requires(const Range& range) { std::span(range); }
  void send(int rank, const Range& message) const {
    send(rank, std::span<const std::byte>(std::as_bytes(std::span(message))));
  }

  /// What has been received.
  struct Received {
    int rank = 0;           ///< Of the sender.
    std::size_t bytes = 0;  ///< Of the message.
  };
  /// Takes a message, of whatever rank. Suspends the task until there is one, and blocks outside of tasks.
  /// @throws std::length_error if the next message does not fit, which stays; std::logic_error in an `onready`; Error if there is none, and a process has
  /// died that might have sent one
  Received receive(std::span<std::byte> into) const;
  /// Takes one that has come, if no other task or thread is about to. Never waits. @throws std::length_error as above
  std::optional<Received> try_receive(std::span<std::byte> into) const;

 private:
  struct State;
  explicit Inbox(std::shared_ptr<State> state) noexcept : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace dovetail::rma
