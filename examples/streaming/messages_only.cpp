#include <algorithm>
#include <cstddef>
#include <thread>
#include <vector>

#include "variant.hpp"

namespace streaming {
namespace {

/// The work of one thread for the blocks from `first` to `end`. All messages are under way at once, and each block waits only for those that
/// it needs.
class Blocks {
 public:
  Blocks(Part& part, int first, int end)
      : part_(part),
        first_(first),
        end_(end),
        receiving_(count(), MPI_REQUEST_NULL),
        sending_(count(), MPI_REQUEST_NULL) {}

  void run() {
    for (int block = first_; block < end_; ++block) {
      receive(0, block);
    }
    for (int chunk = 0; chunk < part_.chunks(); ++chunk) {
      for (int block = first_; block < end_; ++block) {
        MPI_Wait(&receiving_[at(block)], MPI_STATUS_IGNORE);
        MPI_Wait(&sending_[at(block)], MPI_STATUS_IGNORE);
        part_.compute(chunk, block);
        receive(chunk + 1, block);
        send(block);
      }
    }
    MPI_Waitall(static_cast<int>(sending_.size()), sending_.data(), MPI_STATUSES_IGNORE);
  }

 private:
  std::size_t count() const noexcept { return static_cast<std::size_t>(end_ - first_); }
  std::size_t at(int block) const noexcept { return static_cast<std::size_t>(block - first_); }
  void receive(int chunk, int block) {
    if (!part_.place().is_first() && chunk < part_.chunks()) {
      MPI_Irecv(part_.received(block).data(), part_.elements(), MPI_UINT64_T, part_.place().upstream, block,
                MPI_COMM_WORLD, &receiving_[at(block)]);
    }
  }
  void send(int block) {
    if (!part_.place().is_last()) {
      MPI_Isend(part_.computed(block).data(), part_.elements(), MPI_UINT64_T, part_.place().downstream, block,
                MPI_COMM_WORLD, &sending_[at(block)]);
    }
  }

  Part& part_;
  const int first_;
  const int end_;
  std::vector<MPI_Request> receiving_;
  std::vector<MPI_Request> sending_;
};

class MessagesOnly : public Variant {
 public:
  MessagesOnly(Part& part, int threads) : part_(part), threads_(std::min(threads, part.blocks())) {}

  void run() override {
    std::vector<std::jthread> others;
    for (int thread = 1; thread < threads_; ++thread) {
      others.emplace_back([this, thread] { run_share(thread); });
    }
    run_share(0);
  }

 private:
  void run_share(int thread) {
    Blocks(part_, part_.blocks() * thread / threads_, part_.blocks() * (thread + 1) / threads_).run();
  }

  Part& part_;
  const int threads_;
};

}  // namespace

std::unique_ptr<Variant> make_messages_only(Part& part, int threads) {
  return std::make_unique<MessagesOnly>(part, threads);
}

}  // namespace streaming
