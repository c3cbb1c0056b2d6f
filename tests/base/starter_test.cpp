// Which process of a program this one is.
// One thread.
#include "base/starter.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace dovetail::base {
namespace {

class StarterTest : public testing::Test {
 protected:
  StarterTest() { forget(); }
  ~StarterTest() override { forget(); }
  static void forget() {
    for (const char* name : {"PMI_RANK", "PMI_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}) {
      unsetenv(name);
    }
  }
  static void expect(int rank, int size) {
    EXPECT_EQ(rank_of_process().rank, rank);
    EXPECT_EQ(rank_of_process().size, size);
  }
};

TEST_F(StarterTest, AProcessOfNoStarterIsAlone) { expect(0, 1); }

TEST_F(StarterTest, EachStarterIsAsked) {
  setenv("OMPI_COMM_WORLD_RANK", "1", 1);
  setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  expect(1, 2);
  setenv("PMI_RANK", "3", 1);
  setenv("PMI_SIZE", "4", 1);
  expect(3, 4);
}

TEST_F(StarterTest, WhatIsNoRankIsNotBelieved) {
  for (const char* rank : {"", "x", "4", "-1", "1x", "99999999999999999999"}) {
    setenv("PMI_RANK", rank, 1);
    setenv("PMI_SIZE", "4", 1);
    expect(0, 1);
  }
  setenv("PMI_RANK", "1", 1);
  unsetenv("PMI_SIZE");
  expect(0, 1);
}

}  // namespace
}  // namespace dovetail::base
