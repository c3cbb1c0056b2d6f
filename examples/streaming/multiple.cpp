#include <chrono>

#include "messages/polled_messages.hpp"
#include "tasks.hpp"
#include "variant.hpp"

namespace streaming {
namespace {

/// Task-aware MPI as in the paper on TAGASPI (docs/papers.md): the task that starts a message calls MPI by itself.
class Multiple : public Variant {
 public:
  Multiple(Part& part, int workers, int poll_microseconds)
      : part_(part),
        runtime_(options_for(part, workers)),
        messages_(runtime_, std::chrono::microseconds(poll_microseconds)) {}

  void run() override {
    const Place& place = part_.place();
    run_tasks(
        runtime_, part_,
        [&](int /*chunk*/, int block) {
          if (!place.is_first()) {
            messages_.receive(part_.received(block).data(), bytes(), place.upstream, block);
          }
        },
        [&](int /*chunk*/, int block) {
          if (!place.is_last()) {
            messages_.send(part_.computed(block).data(), bytes(), place.downstream, block);
          }
        });
  }

 private:
  int bytes() const noexcept { return static_cast<int>(part_.block_bytes()); }

  Part& part_;
  dovetail::Runtime runtime_;
  messages::PolledMessages messages_;
};

}  // namespace

std::unique_ptr<Variant> make_multiple(Part& part, int workers, int poll_microseconds) {
  return std::make_unique<Multiple>(part, workers, poll_microseconds);
}

}  // namespace streaming
