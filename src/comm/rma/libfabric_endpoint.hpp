// The endpoint that libfabric makes.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "comm/rma/fabric_endpoint.hpp"

namespace dovetail::comm::rma {

struct LibfabricOptions {
  std::string
      provider;  ///< As libfabric names it: "tcp;ofi_rxm", "verbs;ofi_rxm", "efa", "cxi". Empty: the first that will do.
  std::string
      local_address;  ///< Of the interface that reaches the others, where the provider uses addresses of the Internet.
  /// @name Less than a provider offers, for tests
  /// @{
  bool may_order = true;
  bool may_skip_registration = true;
  bool may_carry_data = true;
  bool may_sleep = true;
  /// @}
};

/// libfabric is not there, and cannot be loaded.
struct NoLibfabric : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Loads libfabric. @throws NoLibfabric, std::runtime_error, with what is missing
std::unique_ptr<FabricEndpoint> open_libfabric(const LibfabricOptions& options);

}  // namespace dovetail::comm::rma
