// Which MPI libraries tasks can use. Each refusal is the first use in its process.
#include <future>
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

TEST(Levels, AProcessWithoutMpiIsToldSo) {
  EXPECT_NE(refusal(Abi::mpich).find("which the process has not loaded"), std::string::npos);
}

TEST(Levels, WhereOneThreadMayCallTheOthersKnow) {
  for (const Level level : {Level::single, Level::funneled, Level::serialized, Level::multiple}) {
    fake().set_level(level);
    forget_level();
    EXPECT_EQ(refusal(Abi::mpich), "not refused");
    const bool is_for_one = level < Level::serialized;
    EXPECT_EQ(is_for_one_thread(), is_for_one);
    EXPECT_TRUE(may_call_here());
    EXPECT_EQ(std::async(std::launch::async, may_call_here).get(), !is_for_one);
  }
  EXPECT_NE(refusal(Abi::openmpi).find("compile all of it for one MPI library"), std::string::npos);
}

}  // namespace
}  // namespace dovetail::comm::mpi::test
