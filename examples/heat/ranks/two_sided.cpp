#include "two_sided.hpp"

#include <mpi.h>

#include <string>
#include <vector>

#include "dovetail/dovetail.hpp"
#include "halo.hpp"
#include "options.hpp"

namespace heat {
namespace {

using dovetail::in;
using dovetail::out;

// Others wait for what a message brings: it comes before more updates.
constexpr int message_priority = 1;

int bytes_of(std::span<const double> cells) { return static_cast<int>(cells.size_bytes()); }

// A tag for each column of blocks and direction, and two for checkpoints. Messages of one tag are in the order of their tasks.
class Tags {
 public:
  explicit Tags(const Shape& shape) : columns_(static_cast<int>(shape.block_columns())) {
    int* most = nullptr;
    int is_set = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&most), &is_set);
    if (is_set != 0 && hashes() > *most) {
      throw BadInput("--block: MPI has tags up to " + std::to_string(*most) + ", and " + std::to_string(columns_) +
                     " columns of blocks need more: choose larger blocks");
    }
  }
  int down(const Block& block) const { return static_cast<int>(block.column); }
  int up(const Block& block) const { return columns_ + static_cast<int>(block.column); }
  int permission() const { return 2 * columns_; }
  int hashes() const { return 2 * columns_ + 1; }

 private:
  int columns_;
};

class Letters final : public Coauthors {
 public:
  Letters(const Ranks& ranks, const Tags& tags, messages::BoundMessages& messages)
      : ranks_(ranks), tags_(tags), messages_(messages) {}
  std::size_t rank() const override { return static_cast<std::size_t>(ranks_.rank()); }
  std::size_t count() const override { return static_cast<std::size_t>(ranks_.count()); }
  void allow(std::size_t rank) override { messages_.send(nullptr, 0, static_cast<int>(rank), tags_.permission()); }
  void expect_permission() override { messages_.receive(nullptr, 0, 0, tags_.permission()); }
  void send_hashes(std::span<const std::uint64_t> hashes) override {
    messages_.send(hashes.data(), static_cast<int>(hashes.size_bytes()), 0, tags_.hashes());
  }
  void expect_hashes(std::size_t rank, std::span<std::uint64_t> place) override {
    messages_.receive(place.data(), static_cast<int>(place.size_bytes()), static_cast<int>(rank), tags_.hashes());
  }
  void take_hashes(std::size_t /*rank*/, std::span<std::uint64_t> /*place*/) override {}

 private:
  const Ranks& ranks_;
  const Tags& tags_;
  messages::BoundMessages& messages_;
};

class TwoSided final : public RankSolver {
 public:
  TwoSided(dovetail::Runtime& runtime, const Ranks& ranks, const Part& part,
           std::unique_ptr<messages::BoundMessages> messages)
      : runtime_(runtime),
        ranks_(ranks),
        messages_(std::move(messages)),
        tags_(part.whole),
        letters_(ranks, tags_, *messages_),
        halo_(ranks, part.whole) {}

  Coauthors& coauthors() override { return letters_; }

  void begin(Sweeps& sweeps, const Plan& plan) override {
    sweeps_ = &sweeps;
    plan_ = plan;
    if (plan.first_step == plan.last_step) {
      return;
    }
    for (const Block& block : sweeps.field().blocks()) {
      if (is_at_top(block)) {
        spawn_send_up(block);
      }
      if (is_at_bottom(block)) {
        spawn_receive_below(block);
      }
    }
  }

  void spawn(std::uint64_t step) override {
    const bool is_last = step == plan_.last_step;
    for (const Block& block : sweeps_->field().blocks()) {
      if (is_at_top(block)) {
        spawn_receive_above(block);
      }
      spawn_update(block);
      if (is_at_top(block) && !is_last) {
        spawn_send_up(block);
      }
      if (is_at_bottom(block)) {
        spawn_send_down(block);
        if (!is_last) {
          spawn_receive_below(block);
        }
      }
    }
  }

 private:
  bool is_at_top(const Block& block) const { return block.row == 0 && ranks_.has_above(); }
  bool is_at_bottom(const Block& block) const {
    return block.row + 1 == sweeps_->field().shape().block_rows() && ranks_.has_below();
  }

  void spawn_update(const Block& block) {
    std::vector<dovetail::Access> list = update_accesses(sweeps_->field(), block);
    if (is_at_top(block)) {
      list.push_back(in(halo_.above(block)));
    }
    if (is_at_bottom(block)) {
      list.push_back(in(halo_.below(block)));
    }
    runtime_.spawn({.label = "update", .access = std::span<const dovetail::Access>(list)},
                   [this, &block] { sweeps_->update(block, halo_.beside()); });
  }

  void spawn_send_up(const Block& block) {
    runtime_.spawn({.label = "send up", .access = {in(sweeps_->field().bytes(block))}, .priority = message_priority},
                   [this, &block] {
                     const std::span<double> row = sweeps_->first_row(block);
                     messages_->send(row.data(), bytes_of(row), ranks_.above(), tags_.up(block));
                   });
  }
  void spawn_send_down(const Block& block) {
    runtime_.spawn({.label = "send down", .access = {in(sweeps_->field().bytes(block))}, .priority = message_priority},
                   [this, &block] {
                     const std::span<double> row = sweeps_->last_row(block);
                     messages_->send(row.data(), bytes_of(row), ranks_.below(), tags_.down(block));
                   });
  }
  void spawn_receive_above(const Block& block) {
    runtime_.spawn({.label = "receive above", .access = {out(halo_.above(block))}, .priority = message_priority},
                   [this, &block] {
                     const std::span<double> row = halo_.above(block);
                     messages_->receive(row.data(), bytes_of(row), ranks_.above(), tags_.down(block));
                   });
  }
  void spawn_receive_below(const Block& block) {
    runtime_.spawn({.label = "receive below", .access = {out(halo_.below(block))}, .priority = message_priority},
                   [this, &block] {
                     const std::span<double> row = halo_.below(block);
                     messages_->receive(row.data(), bytes_of(row), ranks_.below(), tags_.up(block));
                   });
  }

  dovetail::Runtime& runtime_;
  const Ranks& ranks_;
  std::unique_ptr<messages::BoundMessages> messages_;
  Tags tags_;
  Letters letters_;
  Halo halo_;
  Sweeps* sweeps_ = nullptr;
  Plan plan_;
};

}  // namespace

std::unique_ptr<RankSolver> two_sided(dovetail::Runtime& runtime, const Ranks& ranks, const Part& part,
                                      std::unique_ptr<messages::BoundMessages> messages) {
  return std::make_unique<TwoSided>(runtime, ranks, part, std::move(messages));
}

}  // namespace heat
