#include "one_sided.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "dovetail/rma.hpp"
#include "halo.hpp"
#include "options.hpp"

namespace heat {
namespace {

namespace rma = dovetail::rma;

constexpr std::uint32_t most_notifications = std::uint32_t{1} << 24;

// The numbers of notifications: one for each column of blocks and direction, then those of checkpoints.
class Numbers {
 public:
  Numbers(const Shape& shape, int ranks) : columns_(static_cast<std::uint32_t>(shape.block_columns())), ranks_(ranks) {
    if (count() > most_notifications) {
      throw BadInput("--block: " + std::to_string(columns_) +
                     " columns of blocks are too many for this variant: choose larger blocks");
    }
  }
  std::uint32_t above(const Block& block) const { return static_cast<std::uint32_t>(block.column); }
  std::uint32_t below(const Block& block) const { return columns_ + static_cast<std::uint32_t>(block.column); }
  std::uint32_t permission() const { return 2 * columns_; }
  std::uint32_t hashes(std::size_t rank) const { return 2 * columns_ + 1 + static_cast<std::uint32_t>(rank); }
  std::uint32_t count() const { return hashes(static_cast<std::size_t>(ranks_)); }

 private:
  std::uint32_t columns_;
  int ranks_;
};

// Rank 0's memory has a place for all hashes behind its halo. Permission to write a checkpoint is permission to write there, too: rank 0
// gives it when it has copied the hashes of the checkpoint before.
class Slips final : public Coauthors {
 public:
  Slips(const Ranks& ranks, const Part& part, const Numbers& numbers, const rma::Segment& segment)
      : ranks_(ranks), part_(part), numbers_(numbers), segment_(segment) {}
  std::size_t rank() const override { return static_cast<std::size_t>(ranks_.rank()); }
  std::size_t count() const override { return static_cast<std::size_t>(ranks_.count()); }
  void allow(std::size_t rank) override {
    rma::notify(static_cast<int>(rank), segment_.id(), {.id = numbers_.permission()});
  }
  void expect_permission() override { rma::notify_await(segment_, numbers_.permission(), nullptr, 0); }
  void send_hashes(std::span<const std::uint64_t> hashes) override {
    rma::write_notify(hashes, {.rank = 0, .segment = segment_.id(), .offset = place_of(part_)},
                      {.id = numbers_.hashes(rank())});
  }
  void expect_hashes(std::size_t rank, std::span<std::uint64_t> /*place*/) override {
    rma::notify_await(segment_, numbers_.hashes(rank), nullptr, static_cast<int>(rank));
  }
  void take_hashes(std::size_t rank, std::span<std::uint64_t> place) override {
    const std::size_t offset = place_of(Part::of_rank(part_.whole, rank, count()));
    const std::span<const std::uint64_t> all = segment_.as<const std::uint64_t>();
    std::ranges::copy(all.subspan(offset / sizeof(std::uint64_t), place.size()), place.begin());
  }

 private:
  static std::size_t place_of(const Part& part) {
    return Halo::bytes(part.whole) + part.first_block() * sizeof(std::uint64_t);
  }

  const Ranks& ranks_;
  const Part& part_;
  const Numbers& numbers_;
  const rma::Segment& segment_;
};

std::size_t segment_bytes(const Ranks& ranks, const Part& part) {
  return Halo::bytes(part.whole) + (ranks.is_first() ? part.whole.blocks() * sizeof(std::uint64_t) : 0);
}

class OneSided final : public RankSolver {
 public:
  OneSided(dovetail::Runtime& runtime, const Ranks& ranks, const Part& part)
      : runtime_(runtime),
        ranks_(ranks),
        part_(part),
        numbers_(part.whole, ranks.count()),
        group_(rma::Group::start()),
        segment_(rma::Segment::allocate(group_, segment_bytes(ranks, part), {.notifications = numbers_.count()})),
        slips_(ranks, part_, numbers_, segment_),
        halo_(ranks, part.whole, segment_.as<double>().data()) {
    if (group_.rank() != ranks.rank() || group_.size() != ranks.count()) {
      throw std::runtime_error("MPI and the starter of this program number its ranks differently");
    }
  }
  // A rank's memory stays until no other writes there any more.
  ~OneSided() override { ranks_.barrier(); }
  OneSided(const OneSided&) = delete;
  OneSided& operator=(const OneSided&) = delete;

  Coauthors& coauthors() override { return slips_; }

  void begin(Sweeps& sweeps, const Plan& plan) override {
    sweeps_ = &sweeps;
    plan_ = plan;
    if (plan.first_step == plan.last_step) {
      return;
    }
    for (const Block& block : sweeps.field().blocks()) {
      if (is_at_top(block)) {
        write_up(block);
      }
    }
  }

  void spawn(std::uint64_t step) override {
    const bool is_last = step == plan_.last_step;
    for (const Block& block : sweeps_->field().blocks()) {
      const std::vector<dovetail::Access> list = update_accesses(sweeps_->field(), block);
      const std::span<const dovetail::Access> accesses(list);
      if (!is_at_top(block) && !is_at_bottom(block)) {
        runtime_.spawn({.label = "update", .access = accesses},
                       [this, &block] { sweeps_->update(block, halo_.beside()); });
        continue;
      }
      runtime_.spawn({.label = "update", .access = accesses, .onready = [this, &block] { await_rows(block); }},
                     [this, &block, is_last] {
                       sweeps_->update(block, halo_.beside());
                       write_rows(block, is_last);
                     });
    }
  }

 private:
  bool is_at_top(const Block& block) const { return block.row == 0 && ranks_.has_above(); }
  bool is_at_bottom(const Block& block) const {
    return block.row + 1 == sweeps_->field().shape().block_rows() && ranks_.has_below();
  }

  // A row that arrives is an acknowledgement at the same time. The rank above writes its row after it has read the one that this rank has written
  // there, and so does the rank below. So the body may overwrite the rows there.
  void await_rows(const Block& block) {
    if (is_at_top(block)) {
      rma::notify_await(segment_, numbers_.above(block), nullptr, ranks_.above());
    }
    if (is_at_bottom(block)) {
      rma::notify_await(segment_, numbers_.below(block), nullptr, ranks_.below());
    }
  }

  void write_rows(const Block& block, bool is_last) {
    if (is_at_top(block) && !is_last) {
      write_up(block);
    }
    if (is_at_bottom(block)) {
      const rma::Remote there{ranks_.below(), segment_.id(), Halo::offset_above(part_.whole, block)};
      rma::write_notify(sweeps_->last_row(block), there, {.id = numbers_.above(block)});
    }
  }
  void write_up(const Block& block) {
    const rma::Remote there{ranks_.above(), segment_.id(), Halo::offset_below(part_.whole, block)};
    rma::write_notify(sweeps_->first_row(block), there, {.id = numbers_.below(block)});
  }

  dovetail::Runtime& runtime_;
  const Ranks& ranks_;
  Part part_;
  Numbers numbers_;
  rma::Group group_;
  rma::Segment segment_;
  Slips slips_;
  Halo halo_;
  Sweeps* sweeps_ = nullptr;
  Plan plan_;
};

}  // namespace

std::unique_ptr<RankSolver> one_sided(dovetail::Runtime& runtime, const Ranks& ranks, const Part& part) {
  return std::make_unique<OneSided>(runtime, ranks, part);
}

}  // namespace heat
