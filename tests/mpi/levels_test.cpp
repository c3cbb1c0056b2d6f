// Which MPI libraries tasks can use. Each refusal is the first use in its process.
#include <stdexcept>

#include "dovetail/dovetail.hpp"
#include "fake_library.hpp"
#include "gtest/gtest.h"

namespace dovetail::comm::mpi::test {
namespace {

std::string refusal(Abi abi) {
  try {
    require_library(abi);
    return "not refused";
  } catch (const std::exception& refused) {
    return refused.what();
  }
}

TEST(Levels, CallsOfOneThreadAreNotEnoughUntilTheyAre) {
  for (const Level level : {Level::single, Level::funneled}) {
    fake().set_level(level);
    EXPECT_NE(refusal(Abi::mpich).find("MPI_THREAD_MULTIPLE"), std::string::npos);
  }
  EXPECT_NE(refusal(Abi::openmpi).find("compile all of it for one MPI library"), std::string::npos)
      << "the other one was asked for first";
  fake().set_level(Level::serialized);
  EXPECT_EQ(refusal(Abi::mpich), "not refused");
  EXPECT_NE(refusal(Abi::openmpi).find("compile all of it for one MPI library"), std::string::npos);
}

}  // namespace
}  // namespace dovetail::comm::mpi::test
