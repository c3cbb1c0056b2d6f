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
    EXPECT_TRUE(what.find("no-such-provider") != std::string::npos || what.find("libfabric") != std::string::npos)
        << what;
  }
}

}  // namespace
}  // namespace dovetail::comm::rma::test
