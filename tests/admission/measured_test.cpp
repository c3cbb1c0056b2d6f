// `adaptive` on a device whose curve was measured.
// One thread.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "checkpoints.hpp"

namespace dovetail::admission::test {
namespace {

// Seconds of so many tasks on a device with a measured curve. It has the depths of a real measurement, and each rate is off by up to 5 %.
double on_a_measured_device(const CongestionLaw& law, unsigned tasks, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> error(0.95, 1.05);
  std::vector<device::Level> curve;
  for (const unsigned depth : {1U, 2U, 3U, 4U, 6U, 8U, 12U, 16U, 24U, 32U}) {
    curve.push_back({depth, law.bandwidth(depth) * error(random)});
  }
  Simulator simulator(law);
  simulator.budget.begin_near(curve);
  TaskType& type = simulator.type("checkpoint", "adaptive", device::highest_rate(curve));
  for (unsigned i = 0; i < tasks; ++i) {
    simulator.arrive(type, checkpoint);
  }
  return simulator.run();
}

CongestionLaw that_likes(double writers) { return {400, writers, writers + 2, 0.15}; }

TEST(Measured, SixtyFourTasksTakeAtMostFifteenPercentMoreThanTheBestNumber) {
  std::vector<CongestionLaw> measured = laws;
  measured.push_back({400, 6, 12, 0.15});
  for (const double writers : {6.0, 7.0, 8.0, 10.0, 11.0, 12.0}) {
    measured.push_back(that_likes(writers));
  }
  for (const CongestionLaw& law : measured) {
    const double best = best_static(law, 64);
    for (unsigned seed = 0; seed < 20; ++seed) {
      EXPECT_LE(on_a_measured_device(law, 64, seed), 1.15 * best) << name(law) << ", seed " << seed;
    }
  }
}

// It gives 355 MB/s with 8 and 348 with 12, and 400 with 9 to 11, which are not measured. Where the error of the curve lets 12 look best, 12 are
// held: five rounds, and one of the four that are left (docs/notes/admission.md).
TEST(Measured, ADeviceThatLikesNineIsAsGoodInMostCurvesAndAtMostTwentyTwoPercentWorse) {
  const double best = best_static(that_likes(9), 64);
  unsigned within = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    const double ratio = on_a_measured_device(that_likes(9), 64, seed) / best;
    EXPECT_LE(ratio, 1.22) << "seed " << seed;
    within += ratio <= 1.15 ? 1 : 0;
  }
  EXPECT_GE(within, 80U);
}

TEST(Measured, ThreeHundredTasksTakeAtMostOnePercentMoreOnAverage) {
  double sum = 0;
  unsigned cases = 0;
  for (double writers = 6; writers <= 12; ++writers) {
    const double best = best_static(that_likes(writers), 300);
    for (unsigned seed = 0; seed < 20; ++seed, ++cases) {
      sum += on_a_measured_device(that_likes(writers), 300, seed) / best;
    }
  }
  EXPECT_LE(sum / cases, 1.01);
}

}  // namespace
}  // namespace dovetail::admission::test
