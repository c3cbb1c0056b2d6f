// The processes of a program, as one of them sees them: what they have sent it, and the way to each.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "base/fifo.hpp"
#include "base/mutex.hpp"
#include "comm/rma/await.hpp"
#include "comm/rma/fabric.hpp"
#include "comm/rma/mailbox.hpp"
#include "comm/rma/notifications.hpp"
#include "comm/rma/peer.hpp"
#include "comm/rma/shared_memory.hpp"
#include "comm/rma/watched.hpp"

namespace dovetail::comm::rma {

class Bootstrap;
struct Introduction;
struct NodeCard;
struct Offer;

/// There is one in the process at a time. Thread-safe as far as not said otherwise.
class Group final : private FabricArrivals {
 public:
  struct Limits {
    std::chrono::milliseconds start;   ///< For each step of a start.
    std::chrono::milliseconds silent;  ///< How long another node may be silent.
  };
  /// By all processes at the same time; blocks. @throws std::runtime_error, std::system_error
  Group(Bootstrap& starter, const Limits& limits);
  /// No other call may be under way, and nothing may wait: see `end`.
  ~Group();
  /// Other processes see from now on that this one has left the group. Adds what waited still, and has failed.
  /// Blocks until other nodes have taken what this one has sent. The thread of the fabric has ended.
  void end(base::Fifo<Waiter>& failed) noexcept;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  /// The one that has been started. Null if there is none, and in the child of a fork, to which the memory of its parent's is nothing.
  static Group* current() noexcept;
  void make_current();
  /// In the child of a fork: its parent's connections to other nodes end with its parent.
  void close_copies() const noexcept;
  /// The current one, which does not end meanwhile: for polls, which may come while the program ends it. Nothing that waited is told meanwhile, since
  /// that may end it.
  class Use {
   public:
    Use() noexcept;
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    Group* get() const noexcept { return group_; }

   private:
    Group* group_;
  };

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return static_cast<int>(peers_.size()); }
  /// @throws std::invalid_argument for a rank that there is not.
  Peer& peer(int rank) const {
    if (rank < 0 || rank >= size()) [[unlikely]] {
      refuse_rank(rank);
    }
    return *peers_[static_cast<std::size_t>(rank)];
  }

  /// @name Segments
  /// @{
  /// The last one has no bytes: its notifications are for `barrier`.
  static constexpr std::uint8_t segment_of_barrier = Peer::most_segments - 1;
  static constexpr std::uint32_t notifications_of_barrier = 64;
  /// How many barriers there were before this one.
  unsigned begin_barrier() noexcept { return barriers_++; }
  /// By all processes at the same time, in the same order; blocks. `program_memory`: memory of the program's own that is used; null: new memory of
  /// zeros. @throws std::runtime_error in all processes if one of them has no memory for it, or cannot reach that of another
  std::uint8_t add_segment(std::uint64_t bytes, std::uint32_t notifications, std::byte* program_memory = nullptr);
  /// By all processes at the same time, in the same order as they begin others; blocks. Its memory is nothing to other ranks then, and its number is
  /// free. What waits for its notifications fails; what is under way to other nodes is waited for. Adds what has ended. `objection`: why this process
  /// cannot end it, which keeps all from it; empty: it can. @throws std::runtime_error in all processes if it goes on; dovetail::rma::Error if it has
  /// ended, and a rank has died
  void end_segment(std::uint8_t id, const std::string& objection, base::Fifo<Waiter>& ended);
  /// Whether this process has that segment.
  bool has_segment(std::uint8_t id, std::uint64_t generation) const noexcept {
    const RemoteSegment* const own =
        peers_[static_cast<std::size_t>(rank_)]->segments[id].load(std::memory_order_acquire);
    return own != nullptr && own->generation == generation;
  }
  /// Of any rank. @throws std::out_of_range if that has none of this number.
  static const RemoteSegment& segment(const Peer& of, std::uint8_t id) {
    const RemoteSegment* const found = of.segments[id].load(std::memory_order_acquire);
    if (found == nullptr) [[unlikely]] {
      refuse_segment(of.rank, id);
    }
    return *found;
  }
  const RemoteSegment& segment(int rank, std::uint8_t id) const { return segment(peer(rank), id); }
  /// @}

  /// @name Sending
  /// @{
  /// What was written to the rank before is visible to the process that takes the notification. @returns Whether it is on its way. If not, there is
  /// no room, or others wait for it; then `otherwise`, which holds the same notification, waits until `put_held_back` gives it back.
  bool notify(Peer& to, Notification notification, HeldBack* otherwise = nullptr) noexcept;
  /// Puts what waits into rings, as far as there is room, and adds it to `put_now`.
  void put_held_back(base::Fifo<Waiter>& put_now) noexcept;
  bool holds_back() const noexcept { return held_back_.load(std::memory_order_relaxed) > 0; }
  /// Null: all ranks run on this node.
  Fabric* fabric() const noexcept { return fabric_.get(); }
  /// To a rank of another node: what is written, and a notification of the segment behind it. `call`: as of `Fabric::write`. @returns As `notify`:
  /// whether the notification is on its way; the data is.
  bool write_notify(Peer& to, RemoteMemory place, std::span<const std::byte> data, Notification notification,
                    RemoteCall* call);
  /// @}

  /// @name Waiting
  /// @{
  /// @returns Whether it has ended, perhaps by failing; else `take_arrived` or `take_events` gives it back some time.
  /// @throws std::logic_error as `Notifications::await`
  bool await(Await& await);
  /// Takes all that has come by now, and adds the waits that have ended by it. @returns Whether `await` has ended by it, too; if not, it is entered
  /// nowhere.
  bool take_and_try(Await& await, base::Fifo<Waiter>& ended);
  std::optional<std::uint32_t> take(std::uint8_t segment, std::uint32_t id);
  bool has_arrivals() const noexcept;
  /// Looks at what has come, and adds the waits that have ended by it.
  void take_arrived(base::Fifo<Waiter>& ended) noexcept;
  /// The same with all that has come by now, and waits for another thread that looks.
  void take_all_arrived(base::Fifo<Waiter>& ended) noexcept;
  /// Moves data between nodes, and adds the calls that have ended by it.
  void progress(base::Fifo<Waiter>& ended) noexcept {
    if (fabric_ != nullptr) {
      fabric_->progress(ended);
    }
  }
  /// One look at all there is: data between nodes, what has come, and room for what is held back.
  void look(base::Fifo<Waiter>& ended) noexcept;
  /// Calls `visit` with each wait and each call, under a lock.
  void for_each_wait(const std::function<void(const Waiter&)>& visit) const;
  /// @}

  /// @name Sleeping
  /// @{
  /// From now on `descriptor` gets readable when something comes. @returns false if something has come already.
  bool may_sleep() noexcept;
  /// An idle worker looks all the time: no sender needs to ring.
  void stay_awake() noexcept {
    own_.say_awake();
    if (!is_looked_at_.load(std::memory_order_relaxed)) {
      is_looked_at_.store(true, std::memory_order_relaxed);
    }
  }
  /// Whether `stay_awake` was called since the last call of this, and `may_sleep` was not.
  bool was_looked_at() noexcept {
    return is_looked_at_.load(std::memory_order_relaxed) && is_looked_at_.exchange(false, std::memory_order_relaxed);
  }
  /// A few looks until `may_sleep`. If still more comes, `descriptor` is readable, so that the next look is soon.
  void look_and_sleep(base::Fifo<Waiter>& ended) noexcept;
  /// Readable when something has come while `may_sleep` holds, and when another process has ended.
  int descriptor() const noexcept { return watched_.descriptor(); }
  /// Takes what has made the descriptor readable, and adds the waits that have ended by it, or failed since a process has ended.
  void take_events(base::Fifo<Waiter>& ended) noexcept;
  /// Whether another process has rung, or that was not looked at for a while.
  bool must_take_events() noexcept;
  /// Whether that was not looked at for a while, by whatever thread.
  bool has_long_not_looked() noexcept {
    const std::uint64_t now = base::ticks();
    if (now < last_look_.load(std::memory_order_relaxed) + ticks_between_looks_) [[likely]] {
      return false;
    }
    last_look_.store(now, std::memory_order_relaxed);
    return true;
  }
  /// @}

 private:
  struct Local {  // what one needs of a segment of this process
    SharedMemory memory;
    Notifications notifications;
    std::unique_ptr<Registration> registration;  ///< Where other nodes write into it.
  };
  using RemoteSegments = std::vector<std::unique_ptr<const RemoteSegment>>;  // by rank
  struct Ending {  // what of a segment no call finds any more, and is kept until no rank uses it
    std::uint8_t id;
    std::unique_ptr<Local> local;
    RemoteSegments others;
  };
  [[noreturn]] void refuse_rank(int rank) const;
  [[noreturn]] static void refuse_segment(int rank, std::uint8_t id);
  void make_mailbox(std::size_t ranks);
  void connect(const std::vector<std::string>& cards, const class Listener& listener);
  void introduce(const Connection& connection) const;
  void meet(int socket, int expected);
  Peer& newcomer(const Introduction& other, int expected) const;
  /// @name Other nodes
  /// @{
  void connect_nodes(Bootstrap& starter);
  void connect_to_node(int lower, const NodeCard& card);
  void accept_from_nodes(const class TcpListener& listener, std::uint64_t token);
  void join(int rank, base::Descriptor socket, const Introduction& introduction);
  void open_fabric(Bootstrap& starter);
  void take_last_of(const Peer& gone, base::Fifo<Waiter>& ended) noexcept;
  void end_way_to(Peer& gone, Standing standing, base::Fifo<Waiter>& ended) REQUIRES(arriving_);
  void drain_once(base::Fifo<Waiter>& ended) noexcept;
  void part_from_nodes(base::Fifo<Waiter>& failed) noexcept;
  void notified(int rank, Notification notification) noexcept override;
  void taken(int rank, std::uint64_t count) noexcept override;
  std::uint64_t* number_at(std::uint8_t segment, std::uint64_t offset) noexcept override;
  void said_goodbye(int rank) noexcept override;
  void left(int rank, std::uint8_t segment) noexcept override;
  void lost(int rank, const std::string& why) noexcept override;
  /// @}
  void watch_peers();
  void add_local(std::uint8_t id, std::uint64_t shared_bytes, std::uint32_t notifications);
  std::pair<Offer, int> offer_own(std::uint8_t id, std::uint64_t bytes, std::uint32_t notifications,
                                  std::byte* program_memory) REQUIRES(adding_);
  static std::unique_ptr<RemoteSegment> segment_of(const Peer& of, const Offer& own,
                                                   const Connection::Message& message);
  class Agreement;
  RemoteSegments exchange_segments(Agreement& beginning, const Offer& own, int descriptor) const;
  std::string try_reach(std::uint8_t id, const RemoteSegments& segments) const;
  void remove_own_segment(std::uint8_t id);
  void release(std::uint8_t id, std::unique_ptr<Local> local);
  std::uint8_t next_number() REQUIRES(adding_);
  void require_in_step() const REQUIRES(adding_);
  void withdraw(Ending& ending, base::Fifo<Waiter>& ended);
  void leave_nodes(const Ending& ending, base::Fifo<Waiter>& ended);
  /// @throws std::out_of_range if the segment has been ended
  Notifications& notifications_of(std::uint8_t segment) REQUIRES(arriving_);
  /// Whether the end of each rank is its failure: in a barrier, a rank that hears of it tells the others nothing more.
  static bool is_for_all(const Await& await) noexcept;
  std::exception_ptr failure_of(const Await& await, int rank) const;
  void take_up_to(unsigned most, base::Fifo<Waiter>& ended) noexcept REQUIRES(arriving_);
  /// `failure_of`: null for a wait that goes on.
  static void fail_waits_of(Local& local, const std::function<std::exception_ptr(const Await&)>& failure_of,
                            base::Fifo<Waiter>& failed) noexcept;
  template <class Concerns>
  void fail_waits(const Concerns& concerns, int rank, base::Fifo<Waiter>& failed) noexcept REQUIRES(arriving_);
  /// Whether the rank of another node takes one more notification, which the caller sends then.
  static bool takes_room(Peer& to) noexcept REQUIRES(to.sending);
  bool put(Peer& to, Notification notification) noexcept REQUIRES(to.sending);
  void wake_if_asleep(const Peer& peer) const noexcept;
  void ring_for_what_is_left() noexcept;

  const int process_;  ///< Which has made it: the child of a fork has a copy that is nothing to others.
  int rank_;
  unsigned barriers_ = 0;
  std::vector<std::unique_ptr<Peer>> peers_;
  SharedMemory mailbox_memory_;
  Mailbox own_;
  base::Descriptor bell_{-1};
  Watched watched_;  ///< Before what it watches is closed, it lets go of that.
  std::atomic<bool> is_looked_at_{false};
  const std::uint64_t ticks_between_looks_;
  std::atomic<std::uint64_t> last_look_{0};
  std::atomic<std::size_t> held_back_{0};

  std::unique_ptr<Fabric> fabric_;

  base::Mutex adding_;  ///< Segments begin and end one after the other.
  const Limits limits_;
  std::array<bool, Peer::most_segments> is_number_used_ GUARDED_BY(adding_){};
  std::uint8_t next_number_ GUARDED_BY(adding_) = 0;
  std::uint64_t generation_ GUARDED_BY(adding_) = 0;    ///< Of the last segment that has begun.
  std::vector<Ending> unfinished_ GUARDED_BY(adding_);  ///< A rank may use these still.
  /// Why what other ranks say of segments is not known any more; empty: it is.
  std::string out_of_step_ GUARDED_BY(adding_);

  mutable base::Mutex arriving_;
  /// How many have been taken of each rank's ring. Written under the lock, read by any thread that asks whether there is more.
  std::vector<std::atomic<std::uint64_t>> taken_;
  std::vector<std::uint64_t> told_ GUARDED_BY(arriving_);  ///< As many of these the rank of another node has been told.
  int died_ GUARDED_BY(arriving_) = any_rank;              ///< The first that has died.
  std::array<std::unique_ptr<Local>, Peer::most_segments> locals_ GUARDED_BY(arriving_);
};

inline constexpr const char* has_ended_its_group = "this process has ended its group";
/// "rank 2 (process 4711) has died"
std::string text_of_end(int rank, const Peer& peer);

}  // namespace dovetail::comm::rma
