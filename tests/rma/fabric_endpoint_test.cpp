// Which provider a process reaches other nodes by.
#include "comm/rma/fabric_endpoint.hpp"

#include <stdexcept>
#include <string>

#include "gtest/gtest.h"

namespace dovetail::comm::rma::test {
namespace {

TEST(FabricEndpoint, AProviderThatThereIsNotIsNamed) {
  FabricOptions options;
  options.provider = "no-such-provider";
  try {
    FabricEndpoint::open(options);
    FAIL() << "opened";
  } catch (const std::runtime_error& error) {
    const std::string what = error.what();
    if (what.find("libfabric1") != std::string::npos || what.find("without libfabric") != std::string::npos) {
      GTEST_SKIP() << what;
    }
    EXPECT_NE(what.find("of the name \"no-such-provider\""), std::string::npos) << what;
  }
}

}  // namespace
}  // namespace dovetail::comm::rma::test
