#include <cstddef>
#include <memory>
#include <vector>

#include "messages/polled_messages.hpp"
#include "task_variant.hpp"

namespace refinement {
namespace {

/// A task for each face that is sent and for each that is received, as in the paper (section VI-B).
class TwoSided final : public TaskVariant {
 public:
  /// With the messages of <dovetail/mpi.hpp>.
  explicit TwoSided(int workers) : TaskVariant(workers) { use(messages::task_aware_messages()); }
  /// With messages that are polled at this rate.
  TwoSided(int workers, std::chrono::microseconds poll) : TaskVariant(workers) {
    use(std::make_unique<messages::PolledMessages>(runtime(), poll));
  }

  void begin(Field& field, const Exchange& exchange) override {
    TaskVariant::begin(field, exchange);
    arrived_ = FaceBuffers(exchange.arrivals(), field.shape());
    departing_ = FaceBuffers(exchange.departures(), field.shape());
  }

 protected:
  void spawn_stage(int stage, bool /*is_last*/) override {
    for (std::size_t place = 0; place < exchange().arrivals().size(); ++place) {
      dovetail::spawn(
          {.label = "receive face", .access = {dovetail::out(arrived_.at(stage, place))}, .priority = message_priority},
          [this, stage, place] {
            const FaceMessage& message = exchange().arrivals()[place];
            const std::span<double> values = arrived_.at(stage, place);
            messages().receive(values.data(), bytes_of(values), message.rank, message.tag(stage));
          });
    }
    for (std::size_t place = 0; place < exchange().departures().size(); ++place) {
      const FaceMessage& message = exchange().departures()[place];
      dovetail::spawn(
          {.label = "send face",
           .access = {dovetail::in(field().before(stage, message.block)), dovetail::out(departing_.at(stage, place))},
           .priority = message_priority},
          [this, stage, place, &message] {
            const std::span<double> values = departing_.at(stage, place);
            pack(field(), message, stage, values);
            messages().send(values.data(), bytes_of(values), message.rank, message.tag(stage));
          });
    }
    for (std::size_t block = 0; block < exchange().blocks(); ++block) {
      std::vector<dovetail::Access> list = accesses_of_update(field(), exchange(), stage, block);
      for (const std::size_t place : exchange().arrivals_of(block)) {
        list.push_back(dovetail::in(arrived_.at(stage, place)));
      }
      dovetail::spawn({.label = "update", .access = std::span<const dovetail::Access>(list)},
                      [this, stage, block] { update(field(), exchange(), arrived_, stage, block); });
    }
  }

 private:
  FaceBuffers arrived_;
  FaceBuffers departing_;
};

}  // namespace

std::unique_ptr<Variant> make_two_sided(int workers) { return std::make_unique<TwoSided>(workers); }

std::unique_ptr<Variant> make_multiple(int workers, std::chrono::microseconds poll) {
  return std::make_unique<TwoSided>(workers, poll);
}

}  // namespace refinement
