// Since when nothing runs.
#include "tasking/stuck_watch.hpp"

#include <gtest/gtest.h>

namespace dovetail::tasking {
namespace {

using std::chrono::seconds;

TEST(StuckWatchTest, AWaitBeginsWithTheFirstWhoNotesIt) {
  StuckWatch watch;
  const base::TimePoint begin{seconds(10)};
  EXPECT_EQ(watch.note_nothing_runs(begin), begin);
  EXPECT_EQ(watch.note_nothing_runs(begin + seconds(5)), begin);
  EXPECT_EQ(watch.note_quiet(begin + seconds(6)), begin + seconds(6)) << "it is counted apart";
  watch.note_not_quiet();
  EXPECT_EQ(watch.note_quiet(begin + seconds(7)), begin + seconds(7));
  EXPECT_EQ(watch.note_nothing_runs(begin + seconds(8)), begin) << "what is under way runs not";
}

TEST(StuckWatchTest, WhatRunsEndsTheWait) {
  StuckWatch watch;
  const base::TimePoint begin{seconds(10)};
  watch.note_nothing_runs(begin);
  watch.note_quiet(begin);
  watch.activity();
  EXPECT_EQ(watch.note_nothing_runs(begin + seconds(1)), begin + seconds(1));
  EXPECT_EQ(watch.note_quiet(begin + seconds(2)), begin + seconds(2));
}

TEST(StuckWatchTest, AReportIsThereWhenItIsCounted) {
  StuckWatch watch;
  EXPECT_EQ(watch.reports(), 0U);
  watch.set_report("nobody can");
  watch.count_report();
  EXPECT_EQ(watch.reports(), 1U);
  EXPECT_EQ(watch.report(), "nobody can");
}

}  // namespace
}  // namespace dovetail::tasking
