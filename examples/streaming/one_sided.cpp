#include "dovetail/rma.hpp"
#include "tasks.hpp"
#include "variant.hpp"

namespace streaming {
namespace {

namespace rma = dovetail::rma;

/// The buffer that a rank receives into is its segment. Notification `block` says that the block has come; `blocks + block` is the ack of the rank
/// downstream: it has computed what it was sent, so the next one may be written there.
class OneSided : public Variant {
 public:
  OneSided(Part& part, int workers)
      : part_(part),
        group_(rma::Group::start()),
        segment_(rma::Segment::allocate(group_, static_cast<std::size_t>(part.blocks()) * part.block_bytes(),
                                        {.notifications = 2 * static_cast<std::uint32_t>(part.blocks())})),
        runtime_(options_for(part, workers)) {
    part_.receive_into(segment_.as<Element>());
  }

  void run() override {
    const Place& place = part_.place();
    run_tasks(
        runtime_, part_,
        [&](int chunk, int block) {
          if (!place.is_first()) {
            rma::notify_await(segment_, data_of(block), nullptr, place.upstream);
          }
          if (!place.is_last() && chunk > 0) {
            rma::notify_await(segment_, ack_of(block), nullptr, place.downstream);
          }
        },
        [&](int chunk, int block) {
          if (!place.is_last()) {
            rma::write_notify(part_.computed(block),
                              {.rank = place.downstream,
                               .segment = segment_.id(),
                               .offset = static_cast<std::uint64_t>(block) * part_.block_bytes()},
                              {.id = data_of(block)});
          }
          if (!place.is_first() && chunk + 1 < part_.chunks()) {
            rma::notify(place.upstream, segment_.id(), {.id = ack_of(block)});
          }
        });
  }

 private:
  static std::uint32_t data_of(int block) noexcept { return static_cast<std::uint32_t>(block); }
  std::uint32_t ack_of(int block) const noexcept { return static_cast<std::uint32_t>(part_.blocks() + block); }

  Part& part_;
  rma::Group group_;
  rma::Segment segment_;
  dovetail::Runtime runtime_;
};

}  // namespace

std::unique_ptr<Variant> make_one_sided(Part& part, int workers) { return std::make_unique<OneSided>(part, workers); }

}  // namespace streaming
