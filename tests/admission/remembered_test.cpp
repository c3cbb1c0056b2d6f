// When it is written down what `adaptive` has found.
#include "device/remembered.hpp"

#include "admitted.hpp"

namespace dovetail::admission::test {
namespace {

// A program that is killed later loses nothing of it; and what no search has found yet would mislead the next run.
TEST_F(Admission, WhatASearchFoundIsRememberedAtOnce) {
  std::ofstream(config_, std::ios::app) << "shared = true\n";
  const std::string key = "device " + device_;
  Runtime runtime(options());
  const auto run_one = [&] {
    runtime.spawn(describe("adaptive"), [] { std::this_thread::yield(); }).get();
    return device().at("types").at(0).at("learning").get<bool>();
  };
  ASSERT_TRUE(run_one());
  EXPECT_EQ(device::recall_level(key).at_once, 0U);
  while (run_one()) {
  }
  EXPECT_EQ(device::recall_level(key).at_once, device().at("types").at(0).at("at_once").get<unsigned>());
}

}  // namespace
}  // namespace dovetail::admission::test
