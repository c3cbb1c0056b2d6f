// The way to the ranks of other nodes: what is under way to each, in order, and what comes from them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "base/fifo.hpp"
#include "base/mutex.hpp"
#include "comm/rma/fabric_endpoint.hpp"
#include "comm/rma/mailbox.hpp"
#include "comm/rma/operation.hpp"

namespace dovetail::comm::rma {

/// What comes from other ranks. Called under the lock of the fabric, by any thread: none of these calls the fabric.
class FabricArrivals {
 public:
  virtual void notified(int rank, Notification notification) noexcept = 0;
  /// How many notifications of this process the rank has taken so far.
  virtual void taken(int rank, std::uint64_t count) noexcept = 0;
  /// The number in memory of this process that an atomic operation of the rank is for; null: there is none.
  virtual std::uint64_t* number_at(std::uint8_t segment, std::uint64_t offset) noexcept = 0;
  virtual void said_goodbye(int rank) noexcept = 0;
  /// The rank uses a segment of this process no more: see `Fabric::leave`.
  virtual void left(int rank, std::uint8_t segment) noexcept = 0;
  /// Nothing reaches the rank any more, or it has sent what is no part of the protocol.
  virtual void lost(int rank, const std::string& why) noexcept = 0;

 protected:
  ~FabricArrivals() = default;
};

/// Thread-safe. What ends is given back by `progress`, to be told without a lock.
class Fabric final : private FabricEvents {
 public:
  /// From here on, a write that nothing waits for should wait.
  static constexpr std::size_t most_under_way = 1024;

  /// @throws std::system_error
  Fabric(std::unique_ptr<FabricEndpoint> endpoint, FabricArrivals& arrivals, int rank, int size);
  ~Fabric();
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  /// "libfabric (tcp;ofi_rxm)"
  const std::string& name() const noexcept { return name_; }
  std::vector<std::byte> address() const;
  /// @throws std::runtime_error
  void add_peer(int rank, std::span<const std::byte> address);
  /// Ends before the fabric does. @throws std::runtime_error
  std::unique_ptr<Registration> register_memory(std::span<std::byte> memory);
  /// Calls `action` under the lock. A registration ends in it while other threads use the fabric.
  void while_nothing_arrives(const std::function<void()>& action);

  /// @name Calls
  /// What one thread posts to one rank takes effect there in this order. A call begins with `begin`, is given to each of its operations, and must be
  /// told if `is_ended_by_caller`. If not, it is given back by `progress` or `rank_ended`.
  /// @{
  static void begin(RemoteCall& call) noexcept { call.left = 1; }
  /// `cause`: what has kept the caller from posting all of it, so the call has failed; null: nothing.
  bool is_ended_by_caller(RemoteCall& call, const std::exception_ptr& cause = nullptr) noexcept;
  /// Its caller waits no more: none of its memory is written from now on. What it writes must stay where it is. @returns false if it has ended; then
  /// it is told in a moment, as any other.
  bool abandon(RemoteCall& call) noexcept;
  /// `call`: null, and the data is copied. `notification`: null, or what follows the data.
  void write(int rank, RemoteMemory to, std::span<const std::byte> data, const Notification* notification,
             RemoteCall* call);
  void read(int rank, RemoteMemory from, std::span<std::byte> data, RemoteCall& call);
  void notify(int rank, Notification notification);
  /// `request`: of one of the atomic operations. `before`: where the number goes that was there.
  void change(int rank, Message request, std::uint64_t& before, RemoteCall& call);
  /// The rank may send as many notifications more.
  void say_taken(int rank, std::uint64_t count);
  bool is_crowded(int rank) noexcept;
  /// @}

  /// @name The end
  /// @{
  /// What waits for this rank fails, now and later, with what `note_end` returns. That is called under the lock, so `FabricArrivals::lost` is not
  /// called meanwhile. Adds the calls that have ended by it.
  void rank_ended(int rank, const std::function<std::string()>& note_end, base::Fifo<Waiter>& ended);
  void say_goodbye(int rank);
  /// Tells the rank, behind all that was written before, that this process uses its segment no more. @returns false while a read of `memory`, where that
  /// begins, is under way: nothing is told then.
  bool leave(int rank, std::uint8_t segment, RemoteMemory memory);
  /// Whether the rank has taken all that was sent before the goodbye.
  bool has_parted(int rank) noexcept;
  /// @}

  /// Moves data as far as it goes, unless another thread does. Adds the calls that have ended.
  void progress(base::Fifo<Waiter>& ended) noexcept;
  /// Calls `visit` with each call that waits, under the lock; more than once if it has several operations.
  void for_each_wait(const std::function<void(const Waiter&)>& visit);

  /// @name The thread of the fabric
  /// It sees to progress while no other thread does. So other processes reach memory of one that only computes.
  /// @{
  /// Sleeps until there may be something to do. @returns false if another thread sees to it.
  bool sleep() noexcept;
  /// Moves all data that is there, and waits for other threads first. Adds the calls that have ended.
  void drain(base::Fifo<Waiter>& ended) noexcept;
  /// Ends a sleep.
  void wake() const noexcept;
  /// A thread that called `progress` all the time stops doing so.
  void hand_over() noexcept;
  /// @}

 private:
  struct Lane {  // to one rank
    base::Fifo<Operation> later;
    Operation* first = nullptr;  // of those under way
    std::size_t under_way = 0;
    bool has_parted = false;
    std::string why_ended;  // empty: it has not
  };
  struct Answer {  // that is expected
    int rank;
    std::uint64_t* before;
    RemoteCall* call;
  };

  void operation_ended(Operation& ended, const std::string& failure) noexcept override REQUIRES(lock_);
  void data_arrived(std::uint64_t data) noexcept override REQUIRES(lock_);
  void message_arrived(const Message& message) noexcept override REQUIRES(lock_);
  void rank_failed(int rank, const std::string& failure) noexcept override REQUIRES(lock_);
  void broke(const std::string& failure) noexcept override REQUIRES(lock_);

  Operation& make(Operation::Kind kind, int rank, RemoteCall* call) REQUIRES(lock_);
  void recycle(Operation& operation) noexcept REQUIRES(lock_);
  void remove(Lane& lane, Operation& operation) noexcept REQUIRES(lock_);
  void post(Operation& operation) REQUIRES(lock_);
  FabricEndpoint::Posted try_post(Lane& lane, Operation& operation) noexcept REQUIRES(lock_);
  void post_later_ones() noexcept REQUIRES(lock_);
  void send(int rank, const Message& message) REQUIRES(lock_);
  void post_write(int rank, RemoteMemory to, std::span<const std::byte> data, const std::uint64_t* with,
                  RemoteCall* call) REQUIRES(lock_);
  void answer(const Message& request) REQUIRES(lock_);
  void drop(RemoteCall& call) noexcept REQUIRES(lock_);
  void fail(RemoteCall& call, const std::string& why) noexcept REQUIRES(lock_);
  static void link(Lane& lane, Operation& operation) noexcept;
  static void unlink(Lane& lane, Operation& operation) noexcept;
  void move_all(base::Fifo<Waiter>& ended) noexcept REQUIRES(lock_);

  FabricArrivals& arrivals_;
  const int rank_;
  const std::string name_;
  base::Descriptor bell_;  ///< Wakes the thread of the fabric.
  std::atomic<bool> is_progressed_elsewhere_{false};
  std::atomic<bool> is_aside_{false};

  mutable base::Mutex lock_;
  /// Before the endpoint ends, nothing of these may go.
  std::vector<std::unique_ptr<Operation>> all_ GUARDED_BY(lock_);
  std::unique_ptr<FabricEndpoint> endpoint_ GUARDED_BY(lock_);
  base::Fifo<Operation> free_ GUARDED_BY(lock_);
  std::vector<Lane> lanes_ GUARDED_BY(lock_);
  std::size_t later_ GUARDED_BY(lock_) = 0;      ///< Of all lanes.
  std::size_t under_way_ GUARDED_BY(lock_) = 0;  ///< Of all lanes.
  /// How long the thread of the fabric sleeps where no descriptor wakes it.
  // Where nothing tells that something has come. A look costs a microsecond or two, so this is a small part of a core.
  static constexpr std::chrono::microseconds shortest_pause{50};
  std::chrono::microseconds pause_ GUARDED_BY(lock_){};
  base::TimePoint moved_at_ GUARDED_BY(lock_){};
  /// The thread of the fabric sleeps, or is about to, and nothing but its descriptors ends that.
  bool sleeps_until_woken_ GUARDED_BY(lock_) = false;
  std::unordered_map<std::uint64_t, Answer> answers_ GUARDED_BY(lock_);
  std::uint64_t next_answer_ GUARDED_BY(lock_) = 0;
  base::Fifo<Waiter> ended_ GUARDED_BY(lock_);
};

}  // namespace dovetail::comm::rma
