// A connection between two processes. It carries messages when a group or a segment begins, within a node with descriptors of shared memory. The
// end of the connection tells of the end of the other process, however that ended: within a node at once.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/descriptor.hpp"

namespace dovetail::comm::rma {

class Connection {
 public:
  /// A message of bytes with descriptors, which are the receiver's.
  struct Message {
    std::vector<std::byte> bytes;
    std::vector<int> descriptors;
    Message() = default;
    Message(Message&&) noexcept = default;
    Message& operator=(Message&&) noexcept = default;
    ~Message();
  };

  /// Takes over the socket. @throws std::system_error if the process at the other end is another user's.
  explicit Connection(int socket);
  /// To a process of another node, by TCP.
  Connection(base::Descriptor socket, int process) noexcept;
  int descriptor() const noexcept { return socket_.get(); }
  /// Process identifier of the other end: on this node as the kernel says, else as the process does.
  int process() const noexcept { return process_; }
  /// Readable when that process has ended. Its children may keep its end of the connection. -1 where the kernel cannot tell, and of
  /// another node: its child closes its copy.
  int life() const noexcept { return life_.get(); }
  /// Descriptors only within a node. @throws std::system_error, with EPIPE if the other process has ended
  void send(std::span<const std::byte> bytes, std::span<const int> descriptors) const;
  /// Blocks. @throws std::system_error, with ETIMEDOUT after `limit`, with ECONNRESET if the other process has ended
  Message receive(std::chrono::milliseconds limit) const;
  /// The other process hears of the end now, although a child of this one may keep a copy of the socket. What was sent before is received first.
  void end() const noexcept;

 private:
  Message receive_with_descriptors() const;

  base::Descriptor socket_;
  base::Descriptor life_{-1};
  bool is_stream_ = false;  ///< Each message follows its length.
  int process_ = 0;
};

/// @name Messages of a stream, each behind its length in bytes
/// @{
/// @throws std::system_error
void send_framed(int socket, std::span<const std::byte> bytes);
/// Blocks. @throws std::system_error, with ETIMEDOUT after `limit`, with ECONNRESET at the end, with EPROTO if it is too long to be one
std::vector<std::byte> receive_framed(int socket, std::chrono::milliseconds limit);
/// @}

/// Where other processes of the node connect to. Its name is no file, and free again when the listener is gone.
class Listener {
 public:
  /// Empty: the kernel chooses a name. @throws std::system_error
  explicit Listener(const std::string& name = {});
  /// Printable, without spaces.
  const std::string& name() const noexcept { return name_; }
  /// Blocks. Turns processes of other users away. @returns The socket. @throws std::system_error, with ETIMEDOUT after `limit`
  int accept(std::chrono::milliseconds limit) const;

 private:
  base::Descriptor socket_;
  std::string name_;
};

/// Blocks until the descriptor is readable, or its other end is gone. @returns 0, ETIMEDOUT if it is not within `limit`, or the errno of the kernel
/// @throws tasking::WaitInterrupted, as all that blocks here, if the thread's `set_interrupt_look` says so
int wait_until_readable(int descriptor, std::chrono::milliseconds limit);

/// @returns The socket. @throws std::system_error
int connect_to(const std::string& name);

}  // namespace dovetail::comm::rma
