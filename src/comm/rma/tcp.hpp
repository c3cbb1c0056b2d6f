// Sockets between nodes: the processes of a group find each other over them, begin segments, and hear of each other's ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/descriptor.hpp"

namespace dovetail::comm::rma {

/// Where processes of other nodes connect to, at any address of this one.
class TcpListener {
 public:
  /// @throws std::system_error
  TcpListener();
  std::uint16_t port() const noexcept { return port_; }
  /// Blocks. @returns The socket. @throws std::system_error, with ETIMEDOUT after `limit`
  base::Descriptor accept(std::chrono::milliseconds limit) const;

 private:
  base::Descriptor socket_{-1};
  std::uint16_t port_ = 0;
};

/// Those of this node by which others may reach it, as text. @throws std::system_error
std::vector<std::string> addresses_of_node();
/// @returns The socket; -1 with errno set if nothing answers there within `limit`
base::Descriptor connect_to(const std::string& address, std::uint16_t port, std::chrono::milliseconds limit);
/// That of this end, as text. @throws std::system_error
std::string local_address(int socket);
/// Whether the other end has closed the connection, which this one may have done, too.
bool other_end_has_closed(int socket) noexcept;
/// The connection ends when the other node has not answered for so long, also if nothing is sent. @throws std::system_error
void end_when_silent(int socket, std::chrono::milliseconds limit);

}  // namespace dovetail::comm::rma
