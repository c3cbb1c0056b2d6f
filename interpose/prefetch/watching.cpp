#include "watching.hpp"

#include <cerrno>

#include "guide.hpp"
#include "predictor.hpp"
#include "recorder.hpp"
#include "replayer.hpp"

namespace dovetail::prefetching {
namespace {

// Reads that show no pattern yet. Of most files there are no more, and what they cost without a look is all that they cost.
constexpr std::uint32_t reads_before_a_look = 4;

std::uint32_t state_after_a_look(int number, Descriptor& descriptor, std::uint32_t state) noexcept {
  FileIdentity identity{};
  if (!identify(number, identity)) {
    return Descriptor::ignored;
  }
  const bool observes = recorder.on() && !recorder.traces();
  const bool may_be_foretold = identity.size >= DetectionTable::smallest_file;
  // Most files of a program that reads many are small and in no plan. What they pay is one system call.
  if (!observes &&
      (state != Descriptor::unknown ? !may_be_foretold : !replayer.knows(identity) && !guide.wants(identity))) {
    return state == Descriptor::unknown && predictor.on() ? Descriptor::fresh : Descriptor::ignored;
  }
  if (!reads_pages(number)) {
    return Descriptor::ignored;
  }
  if (observes) {
    return recorder.begin(number, descriptor, identity);
  }
  if (state != Descriptor::unknown) {
    return predictor.begin(number, descriptor, identity);
  }
  std::uint32_t now = replayer.on() ? replayer.begin(number, descriptor, identity) : Descriptor::ignored;
  if (now == Descriptor::ignored && guide.on()) {
    now = guide.begin(number, descriptor, identity);
  }
  return now == Descriptor::ignored && predictor.on() ? Descriptor::fresh : now;
}

}  // namespace

Descriptor* classify(int number) noexcept {
  Descriptor& found = descriptors[number];
  std::uint32_t state = found.state.load(std::memory_order_acquire);
  const bool only_detected = predictor.on() && !replayer.on() && !guide.on() && state == Descriptor::unknown;
  if (only_detected || (state >= Descriptor::fresh && state < Descriptor::fresh + reads_before_a_look)) {
    found.state.compare_exchange_strong(state, only_detected ? Descriptor::fresh + 1 : state + 1,
                                        std::memory_order_relaxed);
    return nullptr;
  }
  const int error = errno;
  const std::uint32_t now = state_after_a_look(number, found, state);
  FileIdentity identity{};
  if (recorder.traces() && now >= Descriptor::first_file && now < Descriptor::fresh && look_at(number, identity)) {
    recorder.begin(number, found, identity);
  }
  found.state.store(now, std::memory_order_release);
  if (now >= Descriptor::first_file && now < Descriptor::first_guided && (!recorder.on() || recorder.traces())) {
    replayer.go_on(number, now);
  }
  errno = error;
  return now == Descriptor::ignored || now >= Descriptor::fresh ? nullptr : &found;
}

}  // namespace dovetail::prefetching
