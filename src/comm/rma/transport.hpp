// By what a group reaches other nodes: libfabric, or an MPI library where libfabric is not there, or GASPI where gaspi_run has started the ranks.
// The user may ask for any of them (`DOVETAIL_FABRIC`).
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "comm/rma/fabric_endpoint.hpp"

namespace dovetail::comm::rma {

class Bootstrap;

/// By all ranks of a group; blocks. All get an endpoint by the same library, or none does. `local_address`: of the interface that reaches other nodes.
/// `limit`: of each step. @throws std::runtime_error
std::unique_ptr<FabricEndpoint> open_transport(Bootstrap& starter, const std::string& local_address,
                                               std::chrono::milliseconds limit);
/// That of libfabric which DOVETAIL_FABRIC names, or the first. @throws std::runtime_error, NoLibfabric
std::unique_ptr<FabricEndpoint> open_wanted_libfabric(const std::string& local_address);

}  // namespace dovetail::comm::rma
