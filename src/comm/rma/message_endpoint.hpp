// The endpoint that an MPI library makes: all that goes to other nodes is a message with two sides, and nothing blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "comm/rma/fabric_endpoint.hpp"
#include "comm/rma/message_frame.hpp"
#include "comm/rma/message_library.hpp"

namespace dovetail::comm::rma {

/// A message that MPI has, and its memory.
struct Moving {
  MessageLibrary::RequestHandle request;
  Frames::Buffer buffer;
};

/// There is one in the process at a time. MPI reads and writes memory of this alone, which outlives it where MPI is not done with it. So a call that has
/// failed gives its memory back at once. What comes from a rank takes effect in the order in which that rank has posted it.
class MessageEndpoint final : public FabricEndpoint {
 public:
  /// So many messages of one rank for another one are under way at most. The receiver says how many it has taken. More would fill what an MPI library has
  /// for all ranks, and a rank that has stopped would hold up the others.
  static constexpr std::uint64_t window = 32;

  /// `library` has a channel. `tag`: what this group's messages have, and no earlier group's. @throws std::bad_alloc
  MessageEndpoint(MessageLibrary& library, int rank, int size, int tag);
  ~MessageEndpoint() override;
  MessageEndpoint(const MessageEndpoint&) = delete;
  MessageEndpoint& operator=(const MessageEndpoint&) = delete;

  std::string name() const override { return name_; }
  std::vector<std::byte> address() const override;
  void add_peer(int rank, std::span<const std::byte> address) override;
  std::unique_ptr<Registration> register_memory(std::span<std::byte> memory) override;
  bool is_ordered() const noexcept override { return true; }
  bool carries_data() const noexcept override { return true; }
  Posted post(Operation& operation) override;
  const std::string& failure() const noexcept override { return failure_; }
  void forget(int rank, FabricEvents& events) noexcept override;
  unsigned poll(FabricEvents& events) noexcept override;
  int descriptor() const noexcept override { return -1; }
  bool is_busy() const noexcept override {
    const base::LockGuard lock(mutex_);
    return !active_.empty() || was_last_large_;
  }
  bool may_sleep() noexcept override { return false; }

 private:
  class Registered;
  struct Job {  // what is to be sent, in one message or in several
    Frame::Kind kind = Frame::Kind::write;
    Operation* operation = nullptr;  // null: an answer
    RemoteMemory memory{};           // of a part that was read: this process's
    std::uint64_t bytes = 0;
    std::uint64_t done = 0;
    std::uint64_t id = 0;
  };
  struct Peer {
    int rank = 0;
    bool is_known = false;   // it is on another node, and has not ended
    bool is_active = false;  // it is in `active_`
    bool has_failed = false;
    std::deque<Job> jobs;
    std::deque<Moving> leaving;
    std::deque<Moving> arriving;
    std::uint64_t sent = 0;
    std::uint64_t taken_there = 0;  // of those sent
    std::uint64_t taken = 0;
    std::uint64_t told = 0;  // so many of these the rank has been told
  };
  struct Read {
    Operation* operation;
    std::uint64_t left;
  };
  struct Event {
    enum class Kind : std::uint8_t { ended, data, message, failed };
    Kind kind = Kind::ended;
    Operation* operation = nullptr;
    std::uint64_t data = 0;
    Message message{};
    int rank = 0;
    std::string failure{};
  };

  static void mpi_ends() noexcept;
  void end_messages() noexcept;

  void touch(Peer& peer) REQUIRES(mutex_);
  void send_jobs(Peer& to) REQUIRES(mutex_);
  bool send_part(Peer& to, Job& job) REQUIRES(mutex_);
  bool send(Peer& to, Frame frame, std::span<const std::byte> payload) REQUIRES(mutex_);
  void give_back(Operation& operation, const std::string& failure) REQUIRES(mutex_);
  void fail(Peer& peer, const std::string& why) REQUIRES(mutex_);
  void find_messages() REQUIRES(mutex_);
  bool move(Peer& peer) REQUIRES(mutex_);
  void take(Peer& from, const Frames::Buffer& message) REQUIRES(mutex_);
  void take_write(Peer& from, const Frame& frame, std::span<const std::byte> payload) REQUIRES(mutex_);
  void take_part(Peer& from, const Frame& frame, std::span<const std::byte> payload) REQUIRES(mutex_);
  /// Null: it is no memory that others may use.
  std::byte* memory_at(RemoteMemory memory, std::uint64_t bytes) const REQUIRES(mutex_);
  std::vector<Moving> release() noexcept REQUIRES(mutex_);

  MessageLibrary& library_;
  const std::string name_;
  const int rank_;
  const int tag_;

  /// Taken by the calls of a fabric, and by the end of MPI, which no fabric knows of.
  mutable base::Mutex mutex_;
  Frames frames_ GUARDED_BY(mutex_);
  std::vector<Peer> peers_ GUARDED_BY(mutex_);
  std::vector<int> active_ GUARDED_BY(mutex_);  ///< Ranks that something is under way to or from.
  std::unordered_map<std::uint64_t, std::span<std::byte>> memory_
      GUARDED_BY(mutex_);  ///< That is registered, by its key.
  std::uint64_t next_key_ GUARDED_BY(mutex_) = 1;
  std::unordered_map<std::uint64_t, Read> reads_ GUARDED_BY(mutex_);
  std::uint64_t next_read_ GUARDED_BY(mutex_) = 0;
  std::vector<Moving> strangers_ GUARDED_BY(mutex_);  ///< Messages of an earlier group, which come late.
  std::vector<Event> events_ GUARDED_BY(mutex_);      ///< For the next poll.
  std::vector<Event> told_;                           ///< Of the poll that is under way.
  bool was_last_large_ GUARDED_BY(mutex_) = false;    ///< Of the messages that were taken.
  bool has_mpi_ended_ GUARDED_BY(mutex_) = false;
  bool is_end_told_ = false;
  std::string failure_;
};

}  // namespace dovetail::comm::rma
