#include "messages_only.hpp"

#include <mpi.h>

#include <vector>

#include "halo.hpp"

namespace heat {
namespace {

// The messages of one column of blocks. Each is started as early as its memory allows, and waited for as late.
class ColumnMessages {
 public:
  ColumnMessages(const Ranks& ranks, const Halo& halo, const Sweeps& sweeps, const Part& part, std::size_t column)
      : ranks_(ranks),
        top_(sweeps.field().block(0, column)),
        bottom_(sweeps.field().block(part.block_rows - 1, column)),
        halo_(halo),
        sweeps_(sweeps),
        down_(static_cast<int>(column)),
        up_(static_cast<int>(part.whole.block_columns() + column)) {}

  void receive() {
    if (ranks_.has_above()) {
      const std::span<double> row = halo_.above(top_);
      MPI_Irecv(row.data(), count(row), MPI_DOUBLE, ranks_.above(), down_, MPI_COMM_WORLD, &requests_[0]);
    }
    if (ranks_.has_below()) {
      const std::span<double> row = halo_.below(bottom_);
      MPI_Irecv(row.data(), count(row), MPI_DOUBLE, ranks_.below(), up_, MPI_COMM_WORLD, &requests_[1]);
    }
  }
  void send_up() {
    if (ranks_.has_above()) {
      const std::span<double> row = sweeps_.first_row(top_);
      MPI_Isend(row.data(), count(row), MPI_DOUBLE, ranks_.above(), up_, MPI_COMM_WORLD, &requests_[2]);
    }
  }
  void send_down() {
    if (ranks_.has_below()) {
      const std::span<double> row = sweeps_.last_row(bottom_);
      MPI_Isend(row.data(), count(row), MPI_DOUBLE, ranks_.below(), down_, MPI_COMM_WORLD, &requests_[3]);
    }
  }
  // Until the rows of the neighbours are here, and those that were sent have gone.
  void wait() { MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE); }

 private:
  static int count(std::span<const double> row) { return static_cast<int>(row.size()); }

  const Ranks& ranks_;
  const Block& top_;
  const Block& bottom_;
  const Halo& halo_;
  const Sweeps& sweeps_;
  int down_;
  int up_;
  std::vector<MPI_Request> requests_ = std::vector<MPI_Request>(4, MPI_REQUEST_NULL);
};

}  // namespace

void solve_by_messages_only(const Ranks& ranks, Sweeps& sweeps, PlainCheckpoints& checkpoints, const Part& part,
                            const Plan& plan) {
  const Halo halo(ranks, part.whole);
  std::vector<ColumnMessages> columns;
  for (std::size_t column = 0; column < part.whole.block_columns(); ++column) {
    columns.emplace_back(ranks, halo, sweeps, part, column);
    if (plan.first_step < plan.last_step) {
      columns.back().receive();
      columns.back().send_up();
    }
  }
  for (std::uint64_t step = plan.first_step + 1; step <= plan.last_step; ++step) {
    const bool is_last = step == plan.last_step;
    for (std::size_t column = 0; column < columns.size(); ++column) {
      columns[column].wait();
      for (std::size_t row = 0; row < part.block_rows; ++row) {
        sweeps.update(sweeps.field().block(row, column), halo.beside());
      }
      columns[column].send_down();
      if (!is_last) {
        columns[column].send_up();
        columns[column].receive();
      }
    }
    if (plan.checkpoint_every > 0 && step % plan.checkpoint_every == 0 && !is_last) {
      checkpoints.write_checkpoint(step);
    }
  }
  for (ColumnMessages& messages : columns) {
    messages.wait();
  }
  checkpoints.write_final(plan.last_step);
}

}  // namespace heat
