// The endpoint of this process in a fabric: what libfabric, or an MPI library, does for Dovetail, and nothing of what Dovetail makes of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/rma/operation.hpp"

namespace dovetail::comm::rma {

/// What an endpoint has found.
class FabricEvents {
 public:
  virtual void operation_ended(Operation& ended, const std::string& failure) noexcept = 0;  ///< Empty: it succeeded.
  virtual void data_arrived(std::uint64_t data) noexcept = 0;
  virtual void message_arrived(const Message& message) noexcept = 0;
  /// Nothing reaches the rank any more.
  virtual void rank_failed(int rank, const std::string& failure) noexcept = 0;
  /// Nothing works any more.
  virtual void broke(const std::string& failure) noexcept = 0;

 protected:
  ~FabricEvents() = default;
};

/// One thread at a time calls any of these.
class FabricEndpoint {
 public:
  virtual ~FabricEndpoint() = default;

  /// For users: "libfabric (tcp;ofi_rxm)". Those of all ranks are the same.
  virtual std::string name() const = 0;
  /// What other endpoints of the same name are given.
  virtual std::vector<std::byte> address() const = 0;
  /// @throws std::runtime_error
  virtual void add_peer(int rank, std::span<const std::byte> address) = 0;
  /// Others may read and write it. @throws std::runtime_error
  virtual std::unique_ptr<Registration> register_memory(std::span<std::byte> memory) = 0;
  /// Whether what is written is there before what is posted afterwards to the same rank arrives.
  virtual bool is_ordered() const noexcept = 0;
  /// Whether 8 bytes of data can come with a write.
  virtual bool carries_data() const noexcept = 0;

  enum class Posted : std::uint8_t {
    yes,
    later,  ///< There is no room, or no connection yet: `poll` makes some.
    never,  ///< See `failure`.
  };
  virtual Posted post(Operation& operation) = 0;
  virtual const std::string& failure() const noexcept = 0;
  /// The rank has ended, and its calls have failed. Memory of the program's is not used for them any more. What would use it is given back now, and
  /// the rest by `poll`, some time.
  virtual void forget(int /*rank*/, FabricEvents& /*events*/) noexcept {}
  /// Moves data, and tells what has ended or come. @returns How much that was.
  virtual unsigned poll(FabricEvents& events) noexcept = 0;
  /// What gets readable when a poll would find something; -1: nothing tells that, so it is polled from time to time.
  virtual int descriptor() const noexcept = 0;
  /// Where there is no descriptor: whether much is under way, so that a pause costs more than looks do.
  virtual bool is_busy() const noexcept { return false; }
  /// Whether the descriptor may be slept on now.
  virtual bool may_sleep() noexcept = 0;
};

}  // namespace dovetail::comm::rma
