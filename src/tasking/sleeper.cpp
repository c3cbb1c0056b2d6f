#include "tasking/sleeper.hpp"

#include "tasking/futex.hpp"
#include "tasking/service.hpp"

namespace dovetail::tasking {
namespace {

constexpr std::uint32_t awake = 0;
constexpr std::uint32_t parked = 1;
constexpr std::uint32_t notified = 2;

}  // namespace

void Sleeper::park(base::TimePoint deadline) {
  if (parking_ != nullptr) {
    parking_->park(worker_, deadline);
    return;
  }
  std::uint32_t expected = awake;
  if (word_.compare_exchange_strong(expected, parked, std::memory_order_acq_rel)) {
    futex_wait(word_, parked, deadline);
  }
  word_.store(awake, std::memory_order_release);
}

void Sleeper::unpark() noexcept {
  if (parking_ != nullptr) {
    parking_->unpark(worker_);
  } else if (word_.exchange(notified, std::memory_order_acq_rel) == parked) {
    futex_wake(word_);
  }
}

}  // namespace dovetail::tasking
