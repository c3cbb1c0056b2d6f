// Which bodies are taken for short, and which are relied upon to be.
#include "tasking/slice_predictor.hpp"

#include "base/clock.hpp"
#include "support.hpp"

namespace dovetail::tasking {
namespace {

class SlicePredictorTest : public ::testing::Test {
 protected:
  void observe(unsigned slices, double of_the_limit) {
    const double limit =
        static_cast<double>(SlicePredictor::short_microseconds) * static_cast<double>(base::ticks_per_microsecond());
    for (unsigned i = 0; i < slices; ++i) {
      predictor_.observe({&body_}, static_cast<std::uint64_t>(limit * of_the_limit));
    }
  }
  bool is_short() const { return predictor_.is_short({&body_}); }
  bool is_surely_short() const { return predictor_.is_surely_short({&body_}); }

  SlicePredictor predictor_;
  int body_ = 0;
};

TEST_F(SlicePredictorTest, NothingIsKnownAtFirst) {
  EXPECT_FALSE(is_short());
  EXPECT_FALSE(is_surely_short());
}

TEST_F(SlicePredictorTest, TwoShortOnesAreShortAndFortyAreSurelySo) {
  observe(2, 0.1);
  EXPECT_TRUE(is_short());
  EXPECT_FALSE(is_surely_short());
  observe(38, 0.1);
  EXPECT_TRUE(is_surely_short());
}

TEST_F(SlicePredictorTest, AnInterruptDoesNotCount) {
  observe(100, 0.1);
  observe(1, 3);
  observe(1, 0.1);
  EXPECT_TRUE(is_surely_short());
}

TEST_F(SlicePredictorTest, OneThatComputesDoes) {
  observe(100, 0.1);
  observe(1, 1000);
  EXPECT_FALSE(is_short());
  observe(1, 0.1);
  EXPECT_FALSE(is_surely_short());
  observe(100, 0.1);
  EXPECT_TRUE(is_surely_short());
}

TEST_F(SlicePredictorTest, WhatGoesOnAfterAPauseIsAnotherKindThanWhatBegins) {
  const auto limit = SlicePredictor::short_microseconds * base::ticks_per_microsecond();
  for (int i = 0; i < 100; ++i) {
    predictor_.observe({&body_, WaitReason::none}, limit / 10);
    predictor_.observe({&body_, WaitReason::io}, limit * 100);
  }
  EXPECT_TRUE(predictor_.is_surely_short({&body_, WaitReason::none}));
  EXPECT_FALSE(predictor_.is_short({&body_, WaitReason::io}));
}

TEST_F(SlicePredictorTest, OneLongSliceInTenIsNotShort) {
  for (int i = 0; i < 20; ++i) {
    observe(9, 0.1);
    observe(1, 30);
    observe(1, 0.1);
    EXPECT_FALSE(is_surely_short());
  }
}

TEST_F(SlicePredictorTest, AnotherBodyInTheSamePlaceStartsAnew) {
  observe(100, 0.1);
  const SliceKind other{reinterpret_cast<const std::byte*>(&body_) + std::size_t{64} * 8};
  predictor_.observe(other, 0);
  EXPECT_FALSE(predictor_.is_surely_short(other));
  EXPECT_FALSE(is_short());
}

}  // namespace
}  // namespace dovetail::tasking
