/// @file
/// One-sided communication: a task writes into the memory of another process and notifies it; there, a task waits for the notification, by
/// itself or in its `onready`. In the manner of GASPI and TAGASPI: K. Sala, S. Macià and V. Beltran, "Combining One-Sided
/// Communications with Task-Based Programming Models" (docs/papers.md), sections II-B and IV. docs/one_sided.md has the table of names.
///
///     const rma::Group group = rma::Group::start();
///     const rma::Segment halo = rma::Segment::allocate(group, bytes);
///     // On rank 0: the block is written, then notification 3 of the segment appears on rank 1.
///     rt.spawn({.access = {in(block)}}, [&] { rma::write_notify(block, {.rank = 1, .segment = halo.id()}, {.id = 3}); });
///     // On rank 1: the body runs when it has come. No core waits.
///     rt.spawn({.access = {out(row)}, .onready = [&] { rma::notify_await(halo, 3); }}, [&] { copy(halo.data(), row); });
///
/// Processes of one node share the memory of their segments. Those of different nodes reach each other by libfabric: InfiniBand, Slingshot, Omni-Path,
/// EFA, TCP. They are started by `mpiexec` of MPICH or by `dovetail launch`, and within a node by that of Open MPI; MPI itself is not
/// needed. A process that was started alone is a group of its own.
///
/// Order: what a thread has written to a rank is there when a notification that it sends to this rank afterwards is taken. Notifications
/// from one thread to one rank come in order. A notification that was not taken is replaced by the next one of its number.
///
/// Local completion: a task completes when its writes may be changed again. Within a node that is so when the call returns. To another node, up to
/// `most_copied_bytes` are copied; larger data is read until the task has completed, and must neither change nor go before.
///
/// A notification is taken once. One task at a time waits for it.
///
/// Errors: a rank, segment, offset or number that there is not, and a value of 0, throw std::invalid_argument or std::out_of_range before
/// anything is written. When a process dies, or its node is silent for too long, waits for it fail with `Error`; so do waits for any rank, and barriers, from then on. All functions may be called
/// by several threads at the same time, unless said otherwise; none may be under way when the last copy of the group goes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "dovetail/rma_error.hpp"
#include "dovetail/space.hpp"

namespace dovetail {
namespace comm::rma {
class Group;
}

namespace rma {

/// How a group is made.
struct GroupOptions {
  std::chrono::milliseconds start_timeout = std::chrono::minutes(
      1);  ///< For each step of a start, until all processes have come; and until all begin a segment.
  /// A process on another node has died when its node has not answered for so long; and the end of a group waits so long for it. In steps of about
  /// a quarter, and of a second at least.
  std::chrono::milliseconds silence_timeout = std::chrono::minutes(1);
};

/// The processes of the program. A process has one group at a time. Copies are the same group, which ends with the last one.
class Group {
 public:
  /// By all processes at the same time; blocks until all have come. @throws std::logic_error if there is a group already,
  /// std::runtime_error or std::system_error with what the starter or the system says.
  static Group start(const GroupOptions& options = {});
  int rank() const noexcept;  ///< Of this process, from 0.
  int size() const noexcept;  ///< How many processes there are.
  /// Returns when all processes have called it. Suspends a task; outside of tasks it blocks. By one thread of a process at a time. @throws Error
  void barrier() const;
  /// Whether memory can be shared with a rank. @throws std::invalid_argument
  bool is_on_this_node(int rank) const;
  /// How data gets to a rank: "shared memory", "this process", or the provider of libfabric: "libfabric (tcp;ofi_rxm)". @throws std::invalid_argument
  std::string transport(int rank) const;

 private:
  friend class Segment;
  explicit Group(std::shared_ptr<comm::rma::Group> state) noexcept : state_(std::move(state)) {}
  std::shared_ptr<comm::rma::Group> state_;
};

/// How a segment is made.
struct SegmentOptions {
  std::uint32_t notifications = 65536;  ///< Their numbers are below this. At most 2^24; 8 bytes each.
};

/// Memory of this process into which the others write, and its notifications. Copies are the same segment; it lives until `end`, or as long as the
/// group.
class Segment {
 public:
  /// By all processes at the same time, in the same order; blocks. Each chooses its own size. The memory is zero.
  /// @throws std::length_error if the group has 255 segments at the time, std::invalid_argument, and std::runtime_error in all processes if one of them cannot
  /// begin it, which it names
  static Segment allocate(const Group& group, std::size_t bytes, const SegmentOptions& options = {});
  /// The same with memory of the program's own, which stays the program's and stays mapped until the segment has ended. Within a node the
  /// kernel copies for the others, which costs a system call; between nodes it is as fast as any. It has no atomic operations. Some processes may use their own memory, and others allocate.
  /// @throws As `allocate`, and where the kernel does not allow it (Yama, the filter of a container). After an `Error`, the memory stays mapped until the
  /// group ends: a rank may have heard of the segment, and not of the death.
  static Segment use(const Group& group, std::span<std::byte> memory, const SegmentOptions& options = {});
  /// By all processes at the same time, in the same order as they begin and end others; blocks. No other call of this process that uses it may be running,
  /// but for tasks that wait. What tasks have begun before is waited for: their writes to other nodes have arrived, and reads are done. A notification that was not taken is lost, also one that
  /// waits for room. Waits for its notifications fail with `Error`. When it returns, no rank writes into the memory any more: that of `allocate` is gone, and that
  /// of `use` is the program's alone. Its number serves a later segment; calls with the number throw std::out_of_range until then, and waits with a copy
  /// of this object always. `objection`: why this process cannot end it yet; not empty, and no process ends it.
  /// @throws std::runtime_error in all processes if one of them does not end it, which it names: the segment goes on. Error if a process has died: the segment
  /// has ended. std::logic_error in an `onready`; std::out_of_range if it has ended before. After a time-out (`GroupOptions::start_timeout`) and Ctrl-C, the memory is kept
  /// until the group ends, in which no segment can begin or end any more.
  void end(const std::string& objection = {});
  /// Whether it has ended in this process.
  bool is_ended() const noexcept;
  std::byte* data() const noexcept { return data_; }   ///< Of `allocate`: aligned to a page. Null if it has no bytes.
  std::size_t size() const noexcept { return size_; }  ///< In bytes.
  std::uint8_t id() const noexcept { return id_; }     ///< The same in all processes. Numbers are used in turn.
  std::uint32_t notifications() const noexcept { return notifications_; }  ///< How many it has in this process.
  /// The memory as numbers. `T` is trivially copyable.
  template <class T>
  std::span<T> as() const noexcept {
    return {reinterpret_cast<T*>(data_), size_ / sizeof(T)};
  }

 private:
  Segment(std::shared_ptr<comm::rma::Group> group, std::uint8_t id, std::uint64_t generation, std::byte* data,
          std::size_t size, std::uint32_t notifications) noexcept
      : group_(std::move(group)),
        data_(data),
        size_(size),
        generation_(generation),
        notifications_(notifications),
        id_(id) {}
  static Segment make(const Group& group, std::byte* program_memory, std::size_t bytes, const SegmentOptions& options);
  std::shared_ptr<comm::rma::Group> group_;
  std::byte* data_;
  std::size_t size_;
  std::uint64_t generation_;  // tells it from others of its number
  std::uint32_t notifications_;
  std::uint8_t id_;
};

/// A place in the memory of a rank.
struct Remote {
  int rank = 0;              ///< Of the process.
  std::uint8_t segment = 0;  ///< `Segment::id`.
  std::uint64_t offset = 0;  ///< In bytes.
};
/// What tells a rank that something is there.
struct Notify {
  std::uint32_t id = 0;     ///< Below `SegmentOptions::notifications` of that rank.
  std::uint32_t value = 1;  ///< Not 0.
};
/// One of several parts.
struct Transfer {
  std::span<std::byte> local;  ///< Here. Only read by those that write.
  Remote remote;               ///< There.
};
/// Larger data that is written to another node is read until the task has completed.
inline constexpr std::size_t most_copied_bytes = 4096;
/// In place of a rank.
inline constexpr int anyone = -1;

/// @name Moving data
/// Within a node these are copies: the data has been moved when they return. To another node, a write is bound to its task, if it is larger than
/// `most_copied_bytes`; a small one suspends the task while 1024 operations to that rank are under way. Outside of tasks, larger ones block until they
/// have been sent. A read returns when the data is here: from another node it suspends the task, or blocks outside of tasks. The bytes that a failed
/// write leaves at the other rank are not defined; only the end of that rank tells of a copied one. @throws std::invalid_argument, std::out_of_range,
/// Error; std::logic_error for a read from another node in an `onready`; and within a node std::system_error with EFAULT where memory of the
/// program's own is not mapped any more: a part may have been moved then. Another node takes it for granted that it is mapped
/// @{
void write(std::span<const std::byte> data, const Remote& to);
void read(std::span<std::byte> data, const Remote& from);
void write_list(std::span<const Transfer> parts);
void read_list(std::span<const Transfer> parts);
/// Numbers and arrays of them. `Range` is contiguous.
template <class Range>
  requires requires(const Range& range) { std::span(range); }
void write(const Range& data, const Remote& to) {
  write(std::span<const std::byte>(std::as_bytes(std::span(data))), to);
}
/// @}

/// @name Notifying
/// A notification in a task is bound to the task. If the other process has not taken the last 4096 notifications of this one, the task completes when
/// there is room. Outside of tasks the call blocks until then. @throws As those that move data.
/// @{
void notify(int rank, std::uint8_t segment, const Notify& notification);
void write_notify(std::span<const std::byte> data, const Remote& to, const Notify& notification);
/// All parts are to one rank. The notification is one of the segment of the last part. @throws std::invalid_argument if they are not.
void write_list_notify(std::span<const Transfer> parts, const Notify& notification);
/// As above.
template <class Range>
  requires requires(const Range& range) { std::span(range); }
void write_notify(const Range& data, const Remote& to, const Notify& notification) {
  write_notify(std::span<const std::byte>(std::as_bytes(std::span(data))), to, notification);
}
/// @}

/// @name Waiting for notifications of this process, bound to the current task
/// The task completes when they have come; in `onready`, its body begins then. These never suspend. `value`, `values`: where the values go, which
/// live until then; null: nowhere. `from`: the rank that will send it, whose end is a failure, too.
/// @throws std::logic_error outside of a task, or if something else waits for one of them; std::out_of_range
/// @{
void notify_await(const Segment& segment, std::uint32_t id, std::uint32_t* value = nullptr, int from = anyone);
/// For all `count` from `first` on.
void notify_awaitall(const Segment& segment, std::uint32_t first, std::uint32_t count, std::uint32_t* values = nullptr,
                     int from = anyone);
/// @}

/// @name Waiting for notifications of this process now
/// They suspend the current task; outside of tasks they block. @throws Error, std::logic_error, std::out_of_range
/// @{
/// @returns The value.
std::uint32_t notify_wait(const Segment& segment, std::uint32_t id, int from = anyone);
/// What was found.
struct Notified {
  std::uint32_t id = 0;
  std::uint32_t value = 0;
};
/// The first of several.
Notified notify_wait_any(const Segment& segment, std::uint32_t first, std::uint32_t count, int from = anyone);
/// Takes one that has come, if it has. Never waits.
std::optional<std::uint32_t> notify_test(const Segment& segment, std::uint32_t id);
/// @}

/// @name Atomic operations on 8 bytes of any process
/// The offset is a multiple of 8, in a segment that was allocated. Sequentially consistent, among each other and with `std::atomic_ref` in the owner:
/// for another node, the owner's process does them, asked by a message. They suspend a task then, and block outside of tasks.
/// @throws As those that move data; std::logic_error in an `onready`, if the memory is another node's.
/// @{
/// @returns What was there.
std::uint64_t fetch_add(const Remote& at, std::uint64_t added);
/// Stores `wanted` if `expected` is there. @returns What was there.
std::uint64_t compare_swap(const Remote& at, std::uint64_t expected, std::uint64_t wanted);
/// @}

}  // namespace rma
}  // namespace dovetail
