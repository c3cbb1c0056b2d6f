// Which provider a process reaches other nodes by.
// One thread.
#include "comm/rma/libfabric_endpoint.hpp"

#include <stdexcept>
#include <string>

#include "gtest/gtest.h"
#include "libfabric_is_there.hpp"

namespace dovetail::comm::rma::test {
namespace {

TEST(LibfabricEndpoint, AProviderThatThereIsNotIsNamed) {
  LibfabricOptions options;
  options.provider = "no-such-provider";
  try {
    open_libfabric(options);
    FAIL() << "opened";
  } catch (const std::runtime_error& error) {
    if (is_without_libfabric(error)) {
      GTEST_SKIP() << error.what();
    }
    const std::string what = error.what();
    EXPECT_NE(what.find("of the name \"no-such-provider\""), std::string::npos) << what;
  }
}

}  // namespace
}  // namespace dovetail::comm::rma::test
