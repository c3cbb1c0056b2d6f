#include <algorithm>
#include <array>
#include <barrier>
#include <cstddef>
#include <span>
#include <thread>
#include <vector>

#include "variant.hpp"

namespace refinement {
namespace {

int count_of(std::span<const double> values) { return static_cast<int>(values.size()); }

/// What one thread does for the blocks from `first` to `end`: messages are started as early as their memory allows, and waited for as late.
class Blocks {
 public:
  Blocks(Field& field, const Exchange& exchange, const FaceBuffers& arrived, const FaceBuffers& departing,
         std::size_t first, std::size_t end)
      : field_(field), exchange_(exchange), arrived_(arrived), departing_(departing), first_(first), end_(end) {
    for (std::size_t block = first; block < end; ++block) {
      (exchange.arrivals_of(block).empty() ? inner_ : outer_).push_back(block);
    }
    for (auto& requests : receiving_) {
      requests.resize(exchange.arrivals().size(), MPI_REQUEST_NULL);
    }
    for (auto& requests : sending_) {
      requests.resize(exchange.departures().size(), MPI_REQUEST_NULL);
    }
  }

  void begin() {
    receive(0);
    for (const std::size_t block : outer_) {
      send(0, block);
    }
  }
  /// `is_last`: no stage follows that needs faces.
  void stage(int stage, bool is_last) {
    if (!is_last) {
      receive(stage + 1);
    }
    // Those that need no message, while messages are under way.
    for (const std::size_t block : inner_) {
      update(field_, exchange_, arrived_, stage, block);
    }
    for (const std::size_t block : outer_) {
      for (const std::size_t place : exchange_.arrivals_of(block)) {
        MPI_Wait(&receiving_[parity(stage)][place], MPI_STATUS_IGNORE);
      }
      update(field_, exchange_, arrived_, stage, block);
      if (!is_last) {
        send(stage + 1, block);
      }
    }
  }
  /// `stages`: how many there were.
  void end(int stages) {
    for (auto& requests : sending_) {
      MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    }
    for (std::size_t block = first_; block < end_; ++block) {
      add_up(field_.before(stages, block), field_.shape(), field_.sums(block));
    }
  }

 private:
  static std::size_t parity(int stage) { return static_cast<std::size_t>(stage) % 2; }
  void receive(int stage) {
    for (const std::size_t block : outer_) {
      for (const std::size_t place : exchange_.arrivals_of(block)) {
        const FaceMessage& message = exchange_.arrivals()[place];
        const std::span<double> values = arrived_.at(stage, place);
        MPI_Irecv(values.data(), count_of(values), MPI_DOUBLE, message.rank, message.tag(stage), MPI_COMM_WORLD,
                  &receiving_[parity(stage)][place]);
      }
    }
  }
  void send(int stage, std::size_t block) {
    for (const std::size_t place : exchange_.departures_of(block)) {
      const FaceMessage& message = exchange_.departures()[place];
      const std::span<double> values = departing_.at(stage, place);
      MPI_Request& request = sending_[parity(stage)][place];
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      pack(field_, message, stage, values);
      MPI_Isend(values.data(), count_of(values), MPI_DOUBLE, message.rank, message.tag(stage), MPI_COMM_WORLD,
                &request);
    }
  }

  Field& field_;
  const Exchange& exchange_;
  const FaceBuffers& arrived_;
  const FaceBuffers& departing_;
  const std::size_t first_;
  const std::size_t end_;
  std::vector<std::size_t> inner_;
  std::vector<std::size_t> outer_;  // that exchange messages
  std::array<std::vector<MPI_Request>, 2> receiving_;
  std::array<std::vector<MPI_Request>, 2> sending_;
};

class MessagesOnly final : public Variant {
 public:
  explicit MessagesOnly(int threads) : threads_(threads) {}

  void begin(Field& field, const Exchange& exchange) override {
    field_ = &field;
    exchange_ = &exchange;
    arrived_ = FaceBuffers(exchange.arrivals(), field.shape());
    departing_ = FaceBuffers(exchange.departures(), field.shape());
  }

  void run(int stages) override {
    std::barrier<> barrier(threads_);
    in_threads([&](std::size_t first, std::size_t end) {
      Blocks blocks(*field_, *exchange_, arrived_, departing_, first, end);
      blocks.begin();
      for (int stage = 0; stage < stages; ++stage) {
        blocks.stage(stage, stage + 1 == stages);
        // Other threads read what this one overwrites in the next stage.
        barrier.arrive_and_wait();
      }
      blocks.end(stages);
    });
  }

  void move(const Moves& moves, Field& from, int stage, Field& to) override {
    std::vector<std::vector<double>> coming = piece_buffers(moves.arrivals(), from.shape());
    std::vector<std::vector<double>> going = piece_buffers(moves.departures(), from.shape());
    std::vector<MPI_Request> receiving(coming.size(), MPI_REQUEST_NULL);
    std::vector<MPI_Request> sending(going.size(), MPI_REQUEST_NULL);
    for (std::size_t place = 0; place < coming.size(); ++place) {
      const PieceMessage& message = moves.arrivals()[place];
      MPI_Irecv(coming[place].data(), count_of(coming[place]), MPI_DOUBLE, message.rank, message.tag, MPI_COMM_WORLD,
                &receiving[place]);
    }
    for (std::size_t place = 0; place < going.size(); ++place) {
      const PieceMessage& message = moves.departures()[place];
      moves.take(from, stage, message.piece, going[place]);
      MPI_Isend(going[place].data(), count_of(going[place]), MPI_DOUBLE, message.rank, message.tag, MPI_COMM_WORLD,
                &sending[place]);
    }
    std::vector<double> values(from.shape().values());
    for (const Piece& piece : moves.stays()) {
      moves.take(from, stage, piece, values);
      moves.put(to, piece, values);
    }
    for (std::size_t place = 0; place < coming.size(); ++place) {
      MPI_Wait(&receiving[place], MPI_STATUS_IGNORE);
      moves.put(to, moves.arrivals()[place].piece, coming[place]);
    }
    MPI_Waitall(static_cast<int>(sending.size()), sending.data(), MPI_STATUSES_IGNORE);
  }

 private:
  template <class Work>
  void in_threads(const Work& work) {
    const std::size_t blocks = exchange_->blocks();
    const auto threads = static_cast<std::size_t>(threads_);
    std::vector<std::jthread> others;
    for (std::size_t thread = 1; thread < threads; ++thread) {
      others.emplace_back(
          [&work, blocks, thread, threads] { work(blocks * thread / threads, blocks * (thread + 1) / threads); });
    }
    work(0, blocks / threads);
  }

  const int threads_;
  Field* field_ = nullptr;
  const Exchange* exchange_ = nullptr;
  FaceBuffers arrived_;
  FaceBuffers departing_;
};

}  // namespace

std::unique_ptr<Variant> make_messages_only(int threads) { return std::make_unique<MessagesOnly>(threads); }

}  // namespace refinement
