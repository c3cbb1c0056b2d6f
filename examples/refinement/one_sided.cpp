#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <vector>

#include "dovetail/rma.hpp"
#include "task_variant.hpp"

namespace refinement {
namespace {

namespace rma = dovetail::rma;

/// Where a face goes: ranks tell each other after each refinement, since only the one that receives knows where it keeps what.
struct Slot {
  std::uint64_t offset = 0;        ///< Of the place for even stages, in bytes from the beginning of the segment.
  std::uint64_t notification = 0;  ///< For even stages; the next one is for odd stages.
};

/// The memory that faces come into. It grows: where one rank needs more, all end theirs and make a larger one, which has room for twice as much as
/// any rank needs.
class Inbox {
 public:
  Inbox() : group_(rma::Group::start()) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (group_.rank() != rank) {
      throw std::runtime_error("MPI and the starter of this program number its ranks differently");
    }
  }

  /// Room for so many bytes and notifications. By all ranks at the same time.
  void reserve(std::size_t bytes, std::size_t notifications) {
    std::uint64_t wanted[]{bytes, notifications, 0};
    wanted[2] = segment_ && bytes <= segment_->size() && notifications <= segment_->notifications() ? 0 : 1;
    MPI_Allreduce(MPI_IN_PLACE, wanted, 3, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    if (wanted[2] != 0) {
      if (segment_) {
        segment_->end();
      }
      segment_ = rma::Segment::allocate(group_, std::max<std::size_t>(2 * wanted[0], sizeof(double)),
                                        {.notifications = static_cast<std::uint32_t>(2 * wanted[1] + 1)});
    }
  }
  const rma::Segment& segment() const noexcept { return *segment_; }

 private:
  rma::Group group_;
  std::optional<rma::Segment> segment_;
};

/// A task for each block and stage, and none for faces. Its `onready` awaits the faces of other ranks. Its body sends the block's new faces, which
/// are for the next stage.
///
/// A face is written to the place of the one two stages before. It may be, as the paper's acks say it: a neighbour sends its face for a stage
/// after it has read what it got for the stage before. This rank has awaited that face. So each face is an ack, too.
class OneSided final : public TaskVariant {
 public:
  explicit OneSided(int workers) : TaskVariant(workers) { use(messages::task_aware_messages()); }

  void begin(Field& field, const Exchange& exchange) override {
    TaskVariant::begin(field, exchange);
    const std::size_t values = FaceBuffers::values(exchange.arrivals(), field.shape());
    inbox_.reserve(values * sizeof(double), 2 * exchange.arrivals().size());
    arrived_ = FaceBuffers(exchange.arrivals(), field.shape(), inbox_.segment().as<double>().first(values));
    departing_ = FaceBuffers(exchange.departures(), field.shape());
    agree();
  }

 protected:
  void spawn_begin() override {
    for (std::size_t block = 0; block < exchange().blocks(); ++block) {
      if (!exchange().departures_of(block).empty()) {
        dovetail::spawn(
            {.label = "write faces", .access = {dovetail::in(field().before(0, block))}, .priority = message_priority},
            [this, block] { write_faces(0, block); });
      }
    }
  }

  void spawn_stage(int stage, bool is_last) override {
    for (std::size_t block = 0; block < exchange().blocks(); ++block) {
      const std::vector<dovetail::Access> list = accesses_of_update(field(), exchange(), stage, block);
      const std::span<const dovetail::Access> accesses(list);
      if (exchange().arrivals_of(block).empty()) {
        dovetail::spawn({.label = "update", .access = accesses},
                        [this, stage, block] { update(field(), exchange(), arrived_, stage, block); });
        continue;
      }
      // Other ranks wait for its faces.
      dovetail::spawn({.label = "update and write",
                       .access = accesses,
                       .priority = message_priority,
                       .onready = [this, stage, block] { await_faces(stage, block); }},
                      [this, stage, block, is_last] {
                        update(field(), exchange(), arrived_, stage, block);
                        if (!is_last) {
                          write_faces(stage + 1, block);
                        }
                      });
    }
  }

 private:
  static std::uint32_t parity(int stage) noexcept { return static_cast<std::uint32_t>(stage) % 2; }

  // Each rank tells its neighbours where it keeps what they send, in the order in which both number their faces.
  void agree() {
    std::map<int, std::vector<Slot>> told;
    for (std::size_t place = 0; place < exchange().arrivals().size(); ++place) {
      told[exchange().arrivals()[place].rank].push_back({arrived_.begin(place) * sizeof(double), 2 * place});
    }
    std::map<int, std::vector<Slot>> heard;
    for (const FaceMessage& message : exchange().departures()) {
      heard[message.rank].emplace_back();
    }
    std::vector<MPI_Request> requests;
    const auto bytes = [](const std::vector<Slot>& slots) { return static_cast<int>(slots.size() * sizeof(Slot)); };
    for (auto& [rank, slots] : heard) {
      MPI_Irecv(slots.data(), bytes(slots), MPI_BYTE, rank, 0, MPI_COMM_WORLD, &requests.emplace_back());
    }
    for (auto& [rank, slots] : told) {
      MPI_Isend(slots.data(), bytes(slots), MPI_BYTE, rank, 0, MPI_COMM_WORLD, &requests.emplace_back());
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    slots_.clear();
    for (const FaceMessage& message : exchange().departures()) {
      slots_.push_back(heard[message.rank][static_cast<std::size_t>(message.number)]);
    }
  }

  void await_faces(int stage, std::size_t block) {
    for (const std::size_t place : exchange().arrivals_of(block)) {
      const auto number = static_cast<std::uint32_t>(2 * place) + parity(stage);
      rma::notify_await(inbox_.segment(), number, nullptr, exchange().arrivals()[place].rank);
    }
  }

  void write_faces(int stage, std::size_t block) {
    for (const std::size_t place : exchange().departures_of(block)) {
      const FaceMessage& message = exchange().departures()[place];
      const std::span<double> values = departing_.at(stage, place);
      pack(field(), message, stage, values);
      const Slot& slot = slots_[place];
      rma::write_notify(values,
                        {.rank = message.rank,
                         .segment = inbox_.segment().id(),
                         .offset = slot.offset + parity(stage) * values.size_bytes()},
                        {.id = static_cast<std::uint32_t>(slot.notification) + parity(stage)});
    }
  }

  Inbox inbox_;
  FaceBuffers arrived_;
  FaceBuffers departing_;
  std::vector<Slot> slots_;  // one for each departure
};

}  // namespace

std::unique_ptr<Variant> make_one_sided(int workers) { return std::make_unique<OneSided>(workers); }

}  // namespace refinement
