// Whether a test can have a fabric at all.
#pragma once

#include <stdexcept>
#include <string>

namespace dovetail::comm::rma::test {

/// Of what opening an endpoint has thrown: Dovetail was built without libfabric, or there is none at run time.
inline bool is_without_libfabric(const std::runtime_error& error) {
  const std::string what = error.what();
  return what.find("libfabric1") != std::string::npos || what.find("without libfabric") != std::string::npos;
}

}  // namespace dovetail::comm::rma::test
