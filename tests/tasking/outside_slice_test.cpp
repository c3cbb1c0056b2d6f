// What a service does in a slice for earlier ones does not make the slice look long.
#include <cstddef>
#include <memory>

#include "base/clock.hpp"
#include "support.hpp"
#include "tasking/service.hpp"
#include "tasking/slice_predictor.hpp"

namespace dovetail::tasking {
namespace {

unsigned flushes = 0;  // of the only worker; read when it has ended

class Gatherer final : public Service {
 public:
  unsigned poll(unsigned /*worker*/, PollScope /*scope*/) override { return 0; }
  void flush(unsigned /*worker*/) override { ++flushes; }
  std::size_t in_flight() const noexcept override { return 0; }
};

void hand_over() {
  const std::uint64_t begin = base::ticks();
  while (base::ticks() - begin < 3 * SlicePredictor::short_microseconds * base::ticks_per_microsecond()) {
  }
}

/// How often the only worker hands over what its tasks gather, one in sixteen of which hands over by itself.
template <class HandOver>
unsigned flushes_of(HandOver hand_over) {
  constexpr int tasks = 1600;
  static const char key = 0;
  static const bool registered = register_service(
      &key, [](detail::RuntimeCore&, const Options&, unsigned) { return std::make_unique<Gatherer>(); });
  EXPECT_TRUE(registered);
  flushes = 0;
  Runtime(Options{.workers = 1})
      .spawn([&] {
        for (int i = 0; i < tasks; ++i) {
          dovetail::spawn([i, &hand_over] {
            request_flush();
            if (i % 16 == 0) {
              hand_over();
            }
          });
        }
        dovetail::wait();
      })
      .get();
  return flushes;
}

// Before a slice that may be long, what was gathered is handed over: so that is how often one was taken for long.
TEST(OutsideSliceTest, SlicesAreNotTakenForLong) {
  const unsigned inside = flushes_of(hand_over);
  const unsigned outside = flushes_of([] {
    const OutsideSlice not_counted;
    hand_over();
  });
  EXPECT_GT(inside, 60U);
  EXPECT_LT(outside, inside / 2);
}

}  // namespace
}  // namespace dovetail::tasking
