// Messages by GASPI. A rank writes them into a ring that the other one has for it. A notification says how far the ring is written.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "comm/rma/gaspi.hpp"
#include "comm/rma/message_library.hpp"

namespace dovetail::comm::rma {

/// Takes of GASPI the segment of the highest number, and a queue of its own where there is one more, or else the last. Nothing waits for a queue: what GASPI
/// reads is a copy in that segment. The place of the copy is used again when the receiver says that it has taken the message. So what is under way to a
/// dead rank holds up no other.
class GaspiMessages final : public MessageLibrary {
 public:
  /// For each pair of ranks, at the sender and at the receiver.
  static constexpr std::size_t largest_ring = std::size_t{1} << 20;
  static constexpr std::size_t smallest_ring = std::size_t{1} << 18;
  static constexpr std::size_t most_of_rings = std::size_t{1} << 28;  ///< Of the small ones there may be more.

  /// GASPI has been initialised.
  explicit GaspiMessages(const Gaspi& gaspi);

  std::string version() const override { return gaspi_.name(); }
  std::string why_not(int rank, int size) const override;
  void at_end(void (* /*call*/)() noexcept) override {}  // GASPI calls no function when it ends
  const char* channel() const noexcept override { return "the segment of Dovetail in GASPI"; }

  bool has_channel() const noexcept override { return step_ == Step::done; }
  State make_channel() noexcept override;
  void drop_channel() noexcept override { step_ = Step::begin; }
  State gather(std::span<const std::byte> own, std::span<std::byte> all) noexcept override;

  bool send(std::span<const std::byte> bytes, int rank, int tag, RequestHandle& request) noexcept override;
  State find(Found& found) noexcept override;
  bool receive(Found& found, std::span<std::byte> into, RequestHandle& request) noexcept override;
  State test(RequestHandle& request) noexcept override;
  const std::string& failure() const noexcept override { return failure_; }

 private:
  enum class Step : std::uint8_t { begin, register_segment, meet, done };
  struct Waiting {  // for room
    std::span<const std::byte> bytes;
    int tag;
  };
  struct Peer {
    // Bytes of the ring to it, from its beginning on.
    std::uint64_t written = 0;
    std::uint64_t taken_there = 0;
    // Of the ring from it.
    std::uint64_t arrived = 0;
    std::uint64_t taken = 0;
    std::uint64_t told = 0;  // so much of these the rank has been told
    std::deque<Waiting> waiting;
    std::uint64_t placed = 0;  // messages that have found room
    bool is_ready = false;     // it is in `ready_`
    bool is_later = false;     // it is in `later_`
    std::string failure;
  };

  bool allocate();
  bool fail(const char* call, Gaspi::Return result);
  std::size_t out_ring(std::size_t rank) const noexcept;
  std::size_t in_ring(std::size_t rank) const noexcept;
  /// Where the card of a rank lies, of each second exchange; of `size_`: this rank's own.
  std::size_t card(std::size_t rank) const noexcept;
  bool has_room_in_queue() noexcept;
  /// @returns Whether there was room. Also if it failed: see `Peer::failure`.
  bool place(std::size_t rank, std::span<const std::byte> bytes, int tag);
  bool post(std::size_t rank, std::uint64_t end, std::size_t offset, std::size_t bytes);
  void exchange_with(std::size_t rank);
  void come_back_to(std::size_t rank);
  bool look();
  void take_word(std::size_t id, Gaspi::Notification word);

  const Gaspi& gaspi_;
  std::size_t rank_ = 0;
  std::size_t size_ = 0;
  std::size_t ring_ = 0;  ///< Bytes of a ring.
  Gaspi::Segment segment_ = 0;
  Gaspi::Queue queue_ = 0;
  Gaspi::Number most_in_queue_ = 0;
  std::byte* memory_ = nullptr;  ///< Of the segment.

  Step step_ = Step::begin;
  std::size_t next_ = 0;   ///< Rank that the segment is registered with, or that a card goes to.
  std::size_t cards_ = 0;  ///< That have come in the exchange that is under way.
  unsigned exchanges_ = 0;
  std::vector<Peer> peers_;
  std::deque<std::size_t> ready_;  ///< Ranks that something has come from.
  std::deque<std::size_t> later_;  ///< Ranks that are to be sent something.
  std::string failure_;
};

/// The one of this process, which all its groups use. `limit`: until GASPI has been initialised. @throws std::runtime_error, with what keeps this process from
/// using it as this rank of so many
GaspiMessages& require_gaspi_messages(int rank, int size, std::chrono::milliseconds limit);

}  // namespace dovetail::comm::rma
