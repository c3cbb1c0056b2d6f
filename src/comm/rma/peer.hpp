// Another process of the group, or this one: a process may send to itself.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/descriptor.hpp"
#include "base/fifo.hpp"
#include "base/mutex.hpp"
#include "comm/rma/connection.hpp"
#include "comm/rma/mailbox.hpp"
#include "comm/rma/operation.hpp"
#include "comm/rma/shared_memory.hpp"
#include "comm/rma/waiter.hpp"

namespace dovetail::comm::rma {

/// How a process gets at a segment.
enum class Reach : std::uint8_t {
  mapped,  ///< Its own, or shared memory.
  kernel,  ///< Memory of another program's own on this node.
  fabric,  ///< Memory of another node.
};

/// A segment of a process, as others see it.
struct RemoteSegment {
  Reach reach = Reach::mapped;
  SharedMemory mapped;  ///< Of another process; empty for this one.
  std::byte* data =
      nullptr;  ///< Where it is mapped. Of memory of another program's own: where it is there. Null on another node.
  RemoteMemory of_fabric;  ///< On another node.
  std::uint64_t bytes = 0;
  std::uint32_t notifications = 0;
  bool is_of_program = false;  ///< Memory of the program's own.
  /// Of this process's own: tells it from others that have the number before or after it.
  std::uint64_t generation = 0;
};

/// How a process stands to the group.
enum class Standing : std::uint8_t {
  present,
  left,  ///< It has ended its group.
  died,
};

/// A notification that waits since there is no room for it. It has ended when it is on its way.
struct HeldBack final : Waiter {
  Notification notification;
  std::string text() const override {
    return "notification " + std::to_string(notification.id) + " of segment " + std::to_string(notification.segment);
  }
};

struct Peer {
  static constexpr std::size_t most_segments = 256;

  explicit Peer(int number) noexcept : rank(number) {}

  const int rank;
  bool is_on_other_node = false;           ///< Then it has no mailbox here and no bell.
  std::unique_ptr<Connection> connection;  ///< Null: this process.
  SharedMemory mapped_mailbox;             ///< Of another process.
  Mailbox mailbox;
  base::Descriptor bell{-1};  ///< An eventfd, which wakes it.
  std::atomic<Standing> standing{Standing::present};
  /// Each kept until the segment ends, or the group.
  std::array<std::atomic<const RemoteSegment*>, most_segments> segments{};

  /// Whether it has ended its group: what ends its connection after this is no accident.
  bool says_goodbye() const noexcept {
    return is_on_other_node ? has_left.load(std::memory_order_acquire) : mailbox.says_goodbye();
  }

  base::Mutex sending;                               ///< One thread at a time puts something into its ring.
  std::uint64_t sent GUARDED_BY(sending) = 0;        ///< Of its ring for this process.
  base::Fifo<Waiter> held_back GUARDED_BY(sending);  ///< Each is a `HeldBack`.

  /// @name On another node
  /// @{
  std::atomic<bool> has_left{false};
  std::atomic<std::uint64_t> taken_there{0};  ///< How many of those sent. The others have at most the room of a ring.
  std::atomic<int> left_segment{-1};          ///< All ranks end this one, and what it has sent for it is here.
  std::uint64_t put_here = 0;                 ///< Into its ring in this process. Under the lock of the fabric.
  bool is_lost = false;                       ///< Nothing reaches it any more. Under the lock of the fabric.
  std::string why_lost;  ///< If it may be alive. Written under the lock of the fabric, before `standing` is.
  /// @}

  ~Peer() {
    for (const auto& segment : segments) {
      delete segment.load(std::memory_order_relaxed);
    }
  }
};

}  // namespace dovetail::comm::rma
