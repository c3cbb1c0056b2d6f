// Variables of the environment that no code asks for.
// One thread.
#include "base/environment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

namespace dovetail::base {
namespace {

TEST(EnvironmentTest, WhatThePartsAskForIsKnown) {
  for (const char* name : {"DOVETAIL_WORKERS", "DOVETAIL_HDF5_BUFFER", "DOVETAIL_PROGRESS", "DOVETAIL_BUILD_DIR",
                           "DOVETAIL_TEST_ANYTHING", "DOVETAIL_BENCH_DIR"}) {
    EXPECT_TRUE(is_known_variable(name)) << name;
  }
  for (const char* name : {"DOVETAIL_WORKER", "DOVETAIL_", "DOVETAIL_HDF5_", "dovetail_workers", "WORKERS", ""}) {
    EXPECT_FALSE(is_known_variable(name)) << name;
  }
}

TEST(EnvironmentTest, AMisspeltNameLeadsToTheOneThatWasMeant) {
  EXPECT_EQ(known_variable_near("DOVETAIL_WORKRES"), "DOVETAIL_WORKERS");
  EXPECT_EQ(known_variable_near("DOVETAIL_WORKER"), "DOVETAIL_WORKERS");
  EXPECT_EQ(known_variable_near("DOVETAIL_ENGIN"), "DOVETAIL_ENGINE");
  EXPECT_EQ(known_variable_near("DOVETAIL_HDF5_BUFER"), "DOVETAIL_HDF5_BUFFER");
  EXPECT_EQ(known_variable_near("DOVETAIL_TRACE_EVENT"), "DOVETAIL_TRACE_EVENTS");
  EXPECT_EQ(known_variable_near("DOVETAIL_COLOUR_OF_THE_SKY"), "");
  EXPECT_EQ(describe_unknown_variable("DOVETAIL_ENGINES"),
            "the environment variable DOVETAIL_ENGINES is none of Dovetail's and has no effect; is DOVETAIL_ENGINE "
            "meant?");
  EXPECT_EQ(describe_unknown_variable("DOVETAIL_COLOUR_OF_THE_SKY"),
            "the environment variable DOVETAIL_COLOUR_OF_THE_SKY is none of Dovetail's and has no effect");
}

TEST(EnvironmentTest, EachIsToldOnce) {
  setenv("DOVETAIL_WORKRES", "3", 1);
  setenv("DOVETAIL_COLOUR_OF_THE_SKY", "blue", 1);
  setenv("DOVETAIL_WORKERS", "3", 1);
  testing::internal::CaptureStderr();
  tell_of_unknown_variables();
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_NE(told.find("DOVETAIL_WORKRES is none of Dovetail's"), std::string::npos) << told;
  EXPECT_NE(told.find("DOVETAIL_COLOUR_OF_THE_SKY is none of Dovetail's"), std::string::npos) << told;
  EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 2) << told;
  testing::internal::CaptureStderr();
  tell_of_unknown_variables();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace dovetail::base
